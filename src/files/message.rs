//! Shared code of protocol buffer messages: bytes are shared, typed values become elements.

use super::bulk;
use super::error::FileError;
use super::format::Format;
use super::stored::{Content, Encoding, Stored, checked_size};
use super::writer::Writer;
use crate::dtype::{DType, TypeCode};
use crate::error::Error;
use crate::storage::Storage;
use crate::tensor::Tensor;
use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::encode_varint;
use std::io::{Seek, Write};

/// The largest message that Protocol Buffers have.
const LARGEST: u64 = i32::MAX as u64;

/// The bytes of a message, which those of its fields share.
struct Shared(Storage);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        bulk::bytes(&self.0)
    }
}

/// Reads a message.
pub(super) fn decode<M: Message + Default>(
    format: Format,
    storage: &Storage,
) -> Result<M, FileError> {
    let bytes = Bytes::from_owner(Shared(storage.clone()));
    M::decode(bytes).map_err(|error| {
        let expected = "a message of Protocol Buffers";
        FileError::malformed(format, expected, error.to_string())
    })
}

/// Returns the part of a message that a field of it is.
pub(super) fn part(message: &Storage, field: &Bytes) -> Result<Storage, Error> {
    let start = field
        .as_ptr()
        .addr()
        .wrapping_sub(message.data_ptr().addr());
    let end = start.wrapping_add(field.len());
    Ok(match start <= end && end <= message.nbytes() {
        true => message.slice(start..end),
        false => Storage::from_vec(bulk::collect(field.iter().copied())?),
    })
}

/// What is known of a tensor of a message before its elements.
pub(super) struct Head<'a> {
    pub(super) format: Format,
    pub(super) name: &'a str,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
}

impl Head<'_> {
    /// Returns the description of a tensor whose elements are bytes.
    pub(super) fn of_bytes(self, bytes: Storage, byte_each: bool) -> Result<Stored, FileError> {
        let byte_each = byte_each && self.dtype.bits() < 8;
        checked_size(
            self.name,
            self.dtype,
            &self.shape,
            byte_each,
            bytes.nbytes(),
        )?;
        Ok(self.stored(Content::Bytes(bytes), byte_each))
    }

    /// Returns the description of a tensor whose elements are values: as bytes, of sub-byte
    /// elements one each.
    pub(super) fn of_values(self, values: Vec<u8>, may_repeat: bool) -> Result<Stored, FileError> {
        let size = usize::from(self.dtype.bits()).div_ceil(8);
        let (found, expected) = (values.len() / size, self.shape.iter().product());
        if found > expected || !may_repeat && found < expected {
            return Err(FileError::WrongCount {
                name: self.name.to_owned(),
                shape: self.shape,
                expected,
                found,
            });
        }
        let byte_each = self.dtype.bits() < 8;
        Ok(self.stored(Content::Values(values), byte_each))
    }

    fn stored(self, content: Content, byte_each: bool) -> Stored {
        Stored {
            name: self.name.to_owned(),
            dtype: self.dtype,
            shape: self.shape,
            content,
            encoding: Encoding {
                byte_each,
                ..Encoding::default()
            },
        }
    }

    /// Returns integers as elements; those that the element type doesn't have are refused. Bits of
    /// floats are unsigned.
    pub(super) fn integers(&self, values: &[i32]) -> Result<Vec<u8>, FileError> {
        let bits = u32::from(self.dtype.bits());
        let size = bits.div_ceil(8) as usize;
        let range = match self.dtype.code() {
            TypeCode::Int => -(1_i64 << (bits - 1))..1 << (bits - 1),
            TypeCode::Bool => 0..2,
            _ => 0..1 << bits,
        };
        let mut bytes = bulk::with_capacity(values.len().saturating_mul(size))?;
        for value in values {
            if !range.contains(&i64::from(*value)) {
                let expected = format!("values of {} in {:?}", self.dtype, self.name);
                return Err(FileError::malformed(
                    self.format,
                    expected,
                    value.to_string(),
                ));
            }
            bytes.extend(&value.to_le_bytes()[..size]);
        }
        Ok(bytes)
    }

    /// Returns the bytes of complex numbers, of which real and imaginary parts are values of their
    /// own.
    pub(super) fn pairs(&self, bytes: Vec<u8>) -> Result<Vec<u8>, FileError> {
        let size = usize::from(self.dtype.bits()) / 8;
        if bytes.len().is_multiple_of(size) {
            return Ok(bytes);
        }
        let expected = format!("real and imaginary parts in {:?}", self.name);
        let found = "an odd number of values";
        Err(FileError::malformed(self.format, expected, found))
    }

    /// Creates the error of elements that tensors don't have.
    #[cold]
    pub(super) fn unsupported(format: Format, name: &str, found: String) -> FileError {
        FileError::UnsupportedType {
            format,
            name: name.to_owned(),
            found,
        }
    }
}

/// Returns values as bytes.
pub(super) fn bytes_of<T: Copy, const N: usize>(
    values: &[T],
    bytes: fn(T) -> [u8; N],
) -> Result<Vec<u8>, Error> {
    let mut all = bulk::with_capacity(values.len().saturating_mul(N))?;
    all.extend(values.iter().flat_map(|value| bytes(*value)));
    Ok(all)
}

/// Returns a message as bytes.
pub(super) fn encode(message: &impl Message) -> Result<Vec<u8>, Error> {
    let mut bytes = bulk::with_capacity(message.encoded_len())?;
    let encoded = message.encode(&mut bytes);
    encoded.expect("a vector has room for any message");
    Ok(bytes)
}

/// Writes a message and, behind its other fields, one whose bytes are a tensor's elements.
pub(super) fn write_with_elements<W: Write + Seek>(
    (format, to): (Format, &mut Writer<W>),
    message: &impl Message,
    tag: u32,
    elements: (&Tensor, usize),
    write: impl FnOnce(&mut Writer<W>, &Tensor) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let (tensor, nbytes) = elements;
    let mut bytes = encode(message)?;
    /// Fields of a known size.
    const LENGTH_DELIMITED: u32 = 2;
    encode_varint(u64::from(tag << 3 | LENGTH_DELIMITED), &mut bytes);
    encode_varint(nbytes as u64, &mut bytes);
    if (bytes.len() as u64).saturating_add(nbytes as u64) > LARGEST {
        return Err(FileError::Unsupported {
            format,
            what: format!("a message of {nbytes} bytes, more than {LARGEST}"),
            remedy: "write it to safetensors",
        });
    }
    to.bytes(&bytes)?;
    write(to, tensor)
}
