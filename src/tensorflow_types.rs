//! TensorFlow's element types, by which its messages and its C library tell them: codes, names, and
//! which of this crate's they are.

use crate::dtype::DType;

/// Codes, names and equivalents. Elements of less than a byte each take a byte in TensorFlow.
pub(crate) const TABLE: [(i32, &str, Option<DType>); 33] = [
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

/// Returns the element type of a code.
pub(crate) fn dtype_of(code: i32) -> Option<DType> {
    TABLE.iter().find(|(known, ..)| *known == code)?.2
}

/// Returns the code of an element type.
pub(crate) fn code_of(dtype: DType) -> Option<i32> {
    let row = TABLE.iter().find(|(.., known)| *known == Some(dtype));
    row.map(|(code, ..)| *code)
}

/// Returns the name of a code.
pub(crate) fn name_of(code: i32) -> Option<&'static str> {
    let row = TABLE.iter().find(|(known, ..)| *known == code);
    row.map(|(_, name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_round_trips() {
        for (code, name, dtype) in TABLE {
            assert_eq!((dtype_of(code), name_of(code)), (dtype, Some(name)));
            if let Some(dtype) = dtype {
                assert_eq!(code_of(dtype), Some(code));
            }
        }
        assert_eq!((dtype_of(7), name_of(7)), (None, Some("DT_STRING")));
        assert_eq!((dtype_of(0), name_of(0)), (None, None));
        assert_eq!(code_of(DType::F6_E2M3FN), None);
    }
}
