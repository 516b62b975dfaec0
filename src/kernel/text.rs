//! Tokens of the texts in a definition: size rules and gradients.

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, with dots in it where the text allows them.
    Name(&'a str),
    /// A number.
    Number(&'a str),
    /// A quoted text, without its quotes.
    Quoted(&'a str),
    /// Punctuation.
    Mark(&'static str),
}

/// The longer marks first.
const MARKS: [&str; 15] = [
    "...", "->", "[", "]", "(", ")", ",", "@", "|", "+", "-", "*", "/", "=", ".",
];

/// How many tokens a text may have: parsers call themselves for what is in parentheses.
const MOST: usize = 1000;

/// A text's tokens, and how many of them were read.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    tokens: Vec<Token<'a>>,
    read: usize,
}

impl<'a> Tokens<'a> {
    /// Splits a text.
    pub(super) fn of(text: &'a str) -> Result<Self, String> {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let length =
                |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let taken = if first.is_ascii_alphabetic() || first == '_' {
                let length = length(|c| c.is_ascii_alphanumeric() || c == '_');
                tokens.push(Token::Name(&rest[..length]));
                length
            } else if first.is_ascii_digit() {
                let mut length = length(|c| c.is_ascii_digit());
                let fraction = rest[length..].strip_prefix('.').map(|after| {
                    after
                        .find(|c: char| !c.is_ascii_digit())
                        .unwrap_or(after.len())
                });
                if let Some(digits) = fraction.filter(|digits| *digits > 0) {
                    length += 1 + digits;
                }
                tokens.push(Token::Number(&rest[..length]));
                length
            } else if first == '"' {
                let end = rest[1..].find('"').ok_or("a quoted text has no end")?;
                tokens.push(Token::Quoted(&rest[1..=end]));
                end + 2
            } else {
                let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
                let mark = mark.ok_or_else(|| format!("unexpected {first:?}"))?;
                tokens.push(Token::Mark(mark));
                mark.len()
            };
            if tokens.len() > MOST {
                return Err(format!("it has more than {MOST} words and signs"));
            }
            rest = rest[taken..].trim_start();
        }
        Ok(Self { tokens, read: 0 })
    }

    /// Returns a token that wasn't read yet, by its place among those.
    pub(super) fn peek_at(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.read + ahead).copied()
    }

    /// Returns the next token if it is a name.
    pub(super) fn peek_name(&self) -> Option<&'a str> {
        match self.peek_at(0) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.read += count;
    }

    pub(super) fn is_end(&self) -> bool {
        self.peek_at(0).is_none()
    }

    /// Returns whether the next token is this mark.
    pub(super) fn is_next(&self, mark: &str) -> bool {
        matches!(self.peek_at(0), Some(Token::Mark(next)) if next == mark)
    }

    /// Reads a mark if it is the next token.
    pub(super) fn skip(&mut self, mark: &str) -> bool {
        let is_next = self.is_next(mark);
        self.read += usize::from(is_next);
        is_next
    }

    /// Reads the next token if it is one of these marks of one character.
    pub(super) fn skip_any(&mut self, marks: [&str; 2]) -> Option<char> {
        let mark = marks.into_iter().find(|mark| self.is_next(mark))?;
        self.read += 1;
        mark.chars().next()
    }

    /// Reads the next token if it is a number.
    pub(super) fn skip_number(&mut self) -> Option<&'a str> {
        match self.peek_at(0) {
            Some(Token::Number(number)) => {
                self.read += 1;
                Some(number)
            }
            _ => None,
        }
    }

    /// Reads the next token if it is a quoted text.
    pub(super) fn skip_quoted(&mut self) -> Option<&'a str> {
        match self.peek_at(0) {
            Some(Token::Quoted(text)) => {
                self.read += 1;
                Some(text)
            }
            _ => None,
        }
    }

    /// Reads a mark.
    pub(super) fn expect(&mut self, mark: &str) -> Result<(), String> {
        match self.skip(mark) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("{mark:?}"))),
        }
    }

    /// Reads a name.
    pub(super) fn name(&mut self, wanted: &str) -> Result<String, String> {
        let name = self.peek_name().ok_or_else(|| self.unexpected(wanted))?;
        self.read += 1;
        Ok(name.to_owned())
    }

    pub(super) fn expect_end(&self) -> Result<(), String> {
        match self.is_end() {
            true => Ok(()),
            false => Err(self.unexpected("the end")),
        }
    }

    /// Returns the sentence that says what was expected, and what is there.
    pub(super) fn unexpected(&self, wanted: &str) -> String {
        let found = match self.peek_at(0) {
            None => "the end".to_owned(),
            Some(Token::Name(text) | Token::Number(text) | Token::Mark(text)) => {
                format!("{text:?}")
            }
            Some(Token::Quoted(text)) => format!("the text {text:?}"),
        };
        format!("expected {wanted}, got {found}")
    }
}
