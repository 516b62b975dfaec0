//! [`DataType`]: TensorFlow's element types, and which of this crate's they are.

use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::tensorflow_types::{TABLE, code_of, dtype_of, name_of};
use std::fmt;

/// An element type of TensorFlow, by its code.
///
/// # Examples
///
/// ```
/// use dlbridge::DType;
/// use dlbridge::tensorflow::DataType;
///
/// assert_eq!(DataType::from_dtype(DType::BF16)?.name(), "DT_BFLOAT16");
/// assert_eq!(DataType::from_code(9).dtype()?, DType::I64);
/// let error = DataType::from_code(7).dtype().unwrap_err();
/// assert!(error.to_string().starts_with("expected a tensor of numbers, got DT_STRING"));
/// # Ok::<(), dlbridge::error::Incompatibility>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DataType(i32);

impl DataType {
    /// Returns the type of a code.
    pub const fn from_code(code: i32) -> Self {
        Self(code)
    }

    /// Returns the type of this crate's.
    ///
    /// # Errors
    ///
    /// When TensorFlow has none like it.
    pub fn from_dtype(dtype: DType) -> Result<Self, Incompatibility> {
        code_of(dtype).map(Self).ok_or_else(|| {
            let wanted = "an element type of TensorFlow";
            Incompatibility::new(IncompatibilityKind::DType, dtype.to_string(), wanted)
                .with_remedy("cast it first")
        })
    }

    /// Returns this crate's type.
    ///
    /// # Errors
    ///
    /// When the elements aren't plain numbers: strings, resources, variants; or numbers that need a
    /// scale, which DLPack has no types for.
    pub fn dtype(self) -> Result<DType, Incompatibility> {
        if let Some(dtype) = dtype_of(self.0) {
            return Ok(dtype);
        }
        let remedy = match self.name() {
            "DT_STRING" => "decode it in TensorFlow first, as by tf.io.decode_raw",
            "DT_RESOURCE" => "read its value in TensorFlow first, as by Variable.value()",
            "DT_VARIANT" => "stack its parts in TensorFlow first, as by tf.raw_ops.TensorListStack",
            name if name.starts_with("DT_Q") => "use tf.bitcast to the integer of that size first",
            _ => "cast it in TensorFlow first",
        };
        let (found, wanted) = (self.to_string(), "a tensor of numbers");
        let error = Incompatibility::new(IncompatibilityKind::DType, found, wanted);
        Err(error.with_remedy(remedy))
    }

    /// Returns TensorFlow's code.
    pub const fn code(self) -> i32 {
        self.0
    }

    /// Returns TensorFlow's name, such as `DT_FLOAT`; `DT_?` for a code that isn't known.
    pub fn name(self) -> &'static str {
        name_of(self.0).unwrap_or("DT_?")
    }

    /// Returns all types that are known, by their codes.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(code, ..)| Self(*code))
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            "DT_?" => write!(f, "data type {}", self.0),
            name => f.pad(name),
        }
    }
}

impl fmt::Debug for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_equivalent_dtype_round_trips() {
        for data_type in DataType::all() {
            if let Ok(dtype) = data_type.dtype() {
                assert_eq!(DataType::from_dtype(dtype), Ok(data_type));
            }
        }
        let codes: Vec<_> = DataType::all().map(DataType::code).collect();
        assert_eq!(codes, (1..=33).collect::<Vec<_>>());
    }

    #[test]
    fn dtypes_without_equivalent_name_the_remedy() {
        let text = |code| DataType::from_code(code).dtype().unwrap_err().to_string();
        assert_eq!(
            text(7),
            "expected a tensor of numbers, got DT_STRING; decode it in TensorFlow first, as by \
             tf.io.decode_raw"
        );
        assert_eq!(
            text(11),
            "expected a tensor of numbers, got DT_QINT8; use tf.bitcast to the integer of that \
             size first"
        );
        assert!(text(20).ends_with("as by Variable.value()"));
        assert!(text(21).ends_with("as by tf.raw_ops.TensorListStack"));
        assert!(text(99).starts_with("expected a tensor of numbers, got data type 99;"));
        assert_eq!(
            DataType::from_dtype(DType::F8_E8M0FNU)
                .unwrap_err()
                .to_string(),
            "expected an element type of TensorFlow, got float8_e8m0fnu; cast it first"
        );
    }
}
