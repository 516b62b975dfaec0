//! Literals of Python, as far as headers have them.

use crate::files::error::FileError;
use crate::files::format::Format;
use std::fmt;

const FORMAT: Format = Format::Npy;

/// How deep tuples and lists may be nested.
const DEEPEST: usize = 16;

/// A value.
#[derive(Debug)]
pub(super) enum Literal {
    Text(String),
    Bool(bool),
    Integer(i64),
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
}

/// As Python writes it.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Tuple(items) => write!(f, "a tuple of {}", items.len()),
            Self::List(items) => write!(f, "a list of {}", items.len()),
        }
    }
}

/// A reader of a text.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads a dictionary, and calls `item` at each value with its key.
    pub(super) fn dict(
        &mut self,
        mut item: impl FnMut(&mut Self, String) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.expect('{')?;
        while self.peek() != Some('}') {
            let key = self.string()?;
            self.expect(':')?;
            item(self, key)?;
            if self.peek() != Some(',') {
                break;
            }
            self.at += 1;
        }
        self.expect('}')
    }

    /// Reads a value.
    pub(super) fn value(&mut self) -> Result<Literal, FileError> {
        self.value_within(DEEPEST)
    }

    fn value_within(&mut self, depth: usize) -> Result<Literal, FileError> {
        let Some(inside) = depth.checked_sub(1) else {
            return Err(self.unexpected("values that are nested less deeply"));
        };
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let (items, has_comma) = self.items(')', inside)?;
                match <[Literal; 1]>::try_from(items) {
                    // In parentheses alone it is no tuple.
                    Ok([item]) if !has_comma => Ok(item),
                    Ok([item]) => Ok(Literal::Tuple(vec![item])),
                    Err(items) => Ok(Literal::Tuple(items)),
                }
            }
            Some('[') => {
                self.at += 1;
                Ok(Literal::List(self.items(']', inside)?.0))
            }
            Some('\'' | '"') => self.string().map(Literal::Text),
            Some(c) if c == '-' || c.is_ascii_digit() => self.integer(),
            _ => {
                let rest = &self.text[self.at..];
                for (word, value) in [("True", true), ("False", false)] {
                    if rest.starts_with(word) {
                        self.at += word.len();
                        return Ok(Literal::Bool(value));
                    }
                }
                Err(self.unexpected("a value"))
            }
        }
    }

    fn items(&mut self, end: char, depth: usize) -> Result<(Vec<Literal>, bool), FileError> {
        let (mut items, mut has_comma) = (Vec::new(), false);
        while self.peek() != Some(end) {
            items.push(self.value_within(depth)?);
            has_comma = self.peek() == Some(',');
            if !has_comma {
                break;
            }
            self.at += 1;
        }
        self.expect(end)?;
        Ok((items, has_comma))
    }

    fn integer(&mut self) -> Result<Literal, FileError> {
        let rest = &self.text[self.at..];
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..sign + digits].parse();
        let has_zeros_before = digits > 1 && rest[sign..].starts_with('0');
        let Some(number) = number.ok().filter(|_| !has_zeros_before) else {
            return Err(self.unexpected("an integer of 64 bits"));
        };
        self.at += sign + digits;
        // Python 2 wrote it after long integers.
        if self.text[self.at..].starts_with('L') {
            self.at += 1;
        }
        Ok(Literal::Integer(number))
    }

    fn string(&mut self) -> Result<String, FileError> {
        let quote = match self.peek() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.unexpected("a text in quotes")),
        };
        let rest = &self.text[self.at + 1..];
        match rest.find([quote, '\\']) {
            Some(end) if rest[end..].starts_with(quote) => {
                self.at += end + 2;
                Ok(rest[..end].to_owned())
            }
            _ => Err(self.unexpected("a text without escapes, and its end")),
        }
    }

    /// Checks that nothing but white space follows.
    pub(super) fn end(&mut self) -> Result<(), FileError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the header")),
        }
    }

    /// Skips white space, and returns the character that follows.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at = self.text.len() - rest.trim_ascii_start().len();
        self.text[self.at..].chars().next()
    }

    fn expect(&mut self, c: char) -> Result<(), FileError> {
        if self.peek() != Some(c) {
            return Err(self.unexpected(&format!("{c:?}")));
        }
        self.at += c.len_utf8();
        Ok(())
    }

    #[cold]
    fn unexpected(&self, what: &str) -> FileError {
        let rest: String = self.text[self.at..].chars().take(16).collect();
        let found = match rest.is_empty() {
            true => "the end".to_owned(),
            false => format!("{rest:?}"),
        };
        let expected = format!("{what} at byte {} of the header", self.at);
        FileError::malformed(FORMAT, expected, found)
    }
}
