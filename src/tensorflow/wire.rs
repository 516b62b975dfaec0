//! Reading of [protocol buffers](https://protobuf.dev/programming-guides/encoding/), as far as
//! signatures, functions and definitions of ops need it.

use super::error::TensorFlowError;

/// The fields of a message, one after another.
pub(super) struct Fields<'a> {
    what: &'static str,
    bytes: &'a [u8],
    at: usize,
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    /// A number of variable length.
    Number(u64),
    /// A string, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// A number of 4 or 8 bytes, which none of them has.
    Fixed,
}

impl<'a> Fields<'a> {
    /// Reads a message; `what` names it in errors.
    pub(super) fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, bytes, at: 0 }
    }

    /// Returns the next field: number and value.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, TensorFlowError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.number()?;
                Value::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(self.malformed("an unknown wire type")),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], TensorFlowError> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| rest.get(..length));
        let taken = taken.ok_or_else(|| self.malformed("a length past the end"))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn number(&mut self) -> Result<u64, TensorFlowError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self
                .bytes
                .get(self.at)
                .ok_or_else(|| self.malformed("its end"))?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.malformed("a number of more than 64 bits"))
    }

    fn malformed(&self, problem: &'static str) -> TensorFlowError {
        TensorFlowError::Malformed {
            what: self.what,
            at: self.at,
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0, 0];
        let mut fields = Fields::new("message", &bytes);
        assert_eq!(fields.next(), Ok(Some((1, Value::Number(150)))));
        assert_eq!(fields.next(), Ok(Some((2, Value::Bytes(b"hi")))));
        assert_eq!(fields.next(), Ok(Some((3, Value::Fixed))));
        assert_eq!(fields.next(), Ok(None));
    }

    #[test]
    fn malformed_messages_are_refused_with_position() {
        for (bytes, text) in [
            (&[0x08][..], "malformed message at byte 1: its end"),
            (
                &[0x12, 5, 1],
                "malformed message at byte 2: a length past the end",
            ),
            (&[0x0b], "malformed message at byte 1: an unknown wire type"),
            (
                &[0xff; 12],
                "malformed message at byte 10: a number of more than 64 bits",
            ),
        ] {
            let error = Fields::new("message", bytes).next().unwrap_err();
            assert_eq!(error.to_string(), text);
        }
    }
}
