//! [`DataType`]: TensorFlow's element types, and which of this crate's they are.

use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind};
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

/// Codes, names and equivalents. Elements of less than a byte each take a byte in TensorFlow.
const TABLE: [(i32, &str, Option<DType>); 33] = [
    (1, "DT_FLOAT", Some(DType::F32)),
    (2, "DT_DOUBLE", Some(DType::F64)),
    (3, "DT_INT32", Some(DType::I32)),
    (4, "DT_UINT8", Some(DType::U8)),
    (5, "DT_INT16", Some(DType::I16)),
    (6, "DT_INT8", Some(DType::I8)),
    (7, "DT_STRING", None),
    (8, "DT_COMPLEX64", Some(DType::C64)),
    (9, "DT_INT64", Some(DType::I64)),
    (10, "DT_BOOL", Some(DType::BOOL)),
    (11, "DT_QINT8", None),
    (12, "DT_QUINT8", None),
    (13, "DT_QINT32", None),
    (14, "DT_BFLOAT16", Some(DType::BF16)),
    (15, "DT_QINT16", None),
    (16, "DT_QUINT16", None),
    (17, "DT_UINT16", Some(DType::U16)),
    (18, "DT_COMPLEX128", Some(DType::C128)),
    (19, "DT_HALF", Some(DType::F16)),
    (20, "DT_RESOURCE", None),
    (21, "DT_VARIANT", None),
    (22, "DT_UINT32", Some(DType::U32)),
    (23, "DT_UINT64", Some(DType::U64)),
    (24, "DT_FLOAT8_E5M2", Some(DType::F8_E5M2)),
    (25, "DT_FLOAT8_E4M3FN", Some(DType::F8_E4M3FN)),
    (26, "DT_FLOAT8_E4M3FNUZ", Some(DType::F8_E4M3FNUZ)),
    (27, "DT_FLOAT8_E4M3B11FNUZ", Some(DType::F8_E4M3B11FNUZ)),
    (28, "DT_FLOAT8_E5M2FNUZ", Some(DType::F8_E5M2FNUZ)),
    (29, "DT_INT4", Some(DType::I4)),
    (30, "DT_UINT4", Some(DType::U4)),
    (31, "DT_INT2", Some(DType::I2)),
    (32, "DT_UINT2", Some(DType::U2)),
    (33, "DT_FLOAT4_E2M1FN", Some(DType::F4_E2M1FN)),
];

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
        let row = TABLE.iter().find(|(.., known)| *known == Some(dtype));
        row.map(|(code, ..)| Self(*code)).ok_or_else(|| {
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
        let row = TABLE.iter().find(|(code, ..)| *code == self.0);
        if let Some((.., Some(dtype))) = row {
            return Ok(*dtype);
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
        let row = TABLE.iter().find(|(code, ..)| *code == self.0);
        row.map_or("DT_?", |(_, name, _)| name)
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
    fn every_equivalent_has_one_code_and_leads_back() {
        for data_type in DataType::all() {
            if let Ok(dtype) = data_type.dtype() {
                assert_eq!(DataType::from_dtype(dtype), Ok(data_type));
            }
        }
        let codes: Vec<_> = DataType::all().map(DataType::code).collect();
        assert_eq!(codes, (1..=33).collect::<Vec<_>>());
    }

    #[test]
    fn types_without_equivalents_say_what_to_do() {
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
