//! JSON ([RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)), as far as a header needs it: a reader
//! of values one after another, which sees names that are given twice, and a writer of strings.

use crate::files::error::FileError;
use crate::files::format::Format;

const FORMAT: Format = Format::Safetensors;

/// How deep values may be nested that nothing reads.
const DEEPEST: usize = 64;

/// A reader of a text.
pub(super) struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Json<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads `null`, if it is next.
    pub(super) fn null(&mut self) -> bool {
        let is_next = self.peek() == Some(b'n') && self.text[self.at..].starts_with("null");
        self.at += if is_next { 4 } else { 0 };
        is_next
    }

    /// Reads an object, and calls `member` at each value with its name.
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, String) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.expect(b'{', "an object")?;
        self.items(b'}', |json| {
            let name = json.string()?;
            json.expect(b':', "\":\" after a name")?;
            member(json, name)
        })
    }

    /// Reads an array, and calls `item` at each value.
    pub(super) fn array(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.expect(b'[', "an array")?;
        self.items(b']', item)
    }

    fn items(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == end => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("\",\" or the end of a list")),
            }
        }
    }

    /// Reads an integer.
    pub(super) fn integer(&mut self) -> Result<i64, FileError> {
        self.peek();
        let rest = &self.text[self.at..];
        let len = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
            .count();
        let digits = rest[..len].strip_prefix('-').unwrap_or(&rest[..len]);
        let leads_with_zero = digits.len() > 1 && digits.starts_with('0');
        match rest[..len].parse() {
            Ok(number) if !leads_with_zero && !rest.starts_with('+') => {
                self.at += len;
                Ok(number)
            }
            _ => Err(self.unexpected("an integer of 64 bits")),
        }
    }

    /// Reads a string.
    pub(super) fn string(&mut self) -> Result<String, FileError> {
        self.expect(b'"', "a string")?;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let end = rest
                .bytes()
                .position(|byte| matches!(byte, b'"' | b'\\') || byte < 0x20);
            let Some(end) = end else {
                self.at = self.text.len();
                return Err(self.unexpected("the end of a string"));
            };
            string.push_str(&rest[..end]);
            self.at += end;
            match rest.as_bytes()[end] {
                b'"' => {
                    self.at += 1;
                    return Ok(string);
                }
                b'\\' => string.push(self.escape()?),
                _ => return Err(self.unexpected("no control character in a string")),
            }
        }
    }

    /// Reads an escaped character.
    fn escape(&mut self) -> Result<char, FileError> {
        self.at += 1;
        let kind = self.text.as_bytes().get(self.at).copied();
        self.at += 1;
        Ok(match kind {
            Some(byte @ (b'"' | b'\\' | b'/')) => byte.into(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.unit()?;
                let code = match first {
                    0xd800..0xdc00 if self.text[self.at..].starts_with("\\u") => {
                        self.at += 2;
                        match self.unit()? {
                            second @ 0xdc00..0xe000 => {
                                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                            }
                            // Alone, neither of them is a character.
                            _ => first,
                        }
                    }
                    _ => first,
                };
                char::from_u32(code).ok_or_else(|| self.unexpected("a character"))?
            }
            _ => {
                self.at = (self.at - 1).min(self.text.len());
                return Err(self.unexpected("an escape"));
            }
        })
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, FileError> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at += 4;
                Ok(unit)
            }
            None => Err(self.unexpected("four hexadecimal digits")),
        }
    }

    /// Reads a value of any kind, and forgets it.
    pub(super) fn skip(&mut self) -> Result<(), FileError> {
        self.skip_within(DEEPEST)
    }

    fn skip_within(&mut self, depth: usize) -> Result<(), FileError> {
        let Some(inside) = depth.checked_sub(1) else {
            return Err(self.unexpected("values that are nested less deeply"));
        };
        match self.peek() {
            Some(b'{') => self.object(|json, _| json.skip_within(inside)),
            Some(b'[') => self.array(|json| json.skip_within(inside)),
            Some(b'"') => self.string().map(drop),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
                let word = &rest[..end.unwrap_or(rest.len())];
                let is_value = matches!(word, "true" | "false" | "null")
                    || word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
                        && word.parse::<f64>().is_ok();
                if !is_value {
                    return Err(self.unexpected("a value"));
                }
                self.at += word.len();
                Ok(())
            }
        }
    }

    /// Checks that nothing but white space follows.
    pub(super) fn end(&mut self) -> Result<(), FileError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the header")),
        }
    }

    /// Skips white space, and returns the byte that follows.
    fn peek(&mut self) -> Option<u8> {
        let bytes = &self.text.as_bytes()[self.at..];
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += bytes.iter().take_while(is_space).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), FileError> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(what));
        }
        self.at += 1;
        Ok(())
    }

    /// Creates the error of something else than what the header must have here.
    #[cold]
    pub(super) fn unexpected(&self, what: &str) -> FileError {
        let expected = format!("{what} at byte {} of the header", self.at);
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found: String = rest.chars().take(16).collect();
        let found = match found.is_empty() {
            true => "the end".to_owned(),
            false => format!("{found:?}"),
        };
        FileError::malformed(FORMAT, expected, found)
    }
}

/// Appends a string with quotes.
pub(super) fn write_string(to: &mut String, string: &str) {
    to.push('"');
    for c in string.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\u{8}' => to.push_str("\\b"),
            '\u{c}' => to.push_str("\\f"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\0'..' ' => to.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => to.push(c),
        }
    }
    to.push('"');
}
