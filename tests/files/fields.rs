//! Messages that are put together field by field.

use super::only;
use dlbridge::Tensor;
use dlbridge::files::{FileError, Format};
use prost::encoding::WireType::{LengthDelimited, Varint};
use prost::encoding::{encode_key, encode_varint};

/// A message that is put together by hand.
#[derive(Clone, Default)]
pub(super) struct Fields(pub(super) Vec<u8>);

impl Fields {
    pub(super) fn number(mut self, tag: u32, number: i64) -> Self {
        encode_key(tag, Varint, &mut self.0);
        encode_varint(number as u64, &mut self.0);
        self
    }

    pub(super) fn bytes(mut self, tag: u32, bytes: &[u8]) -> Self {
        encode_key(tag, LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend(bytes);
        self
    }

    pub(super) fn packed(self, tag: u32, numbers: &[i64]) -> Self {
        let mut bytes = Vec::new();
        numbers
            .iter()
            .for_each(|number| encode_varint(*number as u64, &mut bytes));
        self.bytes(tag, &bytes)
    }

    pub(super) fn each(self, tag: u32, numbers: &[i64]) -> Self {
        let numbers = numbers.iter();
        numbers.fold(self, |fields, number| fields.number(tag, *number))
    }

    /// TensorFlow's type and shape.
    pub(super) fn tf(dtype: i64, shape: &[i64]) -> Self {
        let dims = shape.iter().fold(Self::default(), |dims, size| {
            dims.bytes(2, &Self::default().number(1, *size).0)
        });
        Self::default().number(1, dtype).bytes(2, &dims.0)
    }

    /// ONNX's type and shape.
    pub(super) fn onnx(dtype: i64, shape: &[i64]) -> Self {
        Self::default().each(1, shape).number(2, dtype)
    }

    pub(super) fn read(self, format: Format) -> Result<Tensor, FileError> {
        only(self.0, format)
    }
}
