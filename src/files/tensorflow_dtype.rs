//! TensorFlow's numbers of element types.

use crate::dtype::DType;

/// The number in `DataType` of TensorFlow, and the element type. The quantized types, strings,
/// resources and variants have no equivalent.
const TYPES: [(i32, DType); 25] = [
    (1, DType::F32),
    (2, DType::F64),
    (3, DType::I32),
    (4, DType::U8),
    (5, DType::I16),
    (6, DType::I8),
    (8, DType::C64),
    (9, DType::I64),
    (10, DType::BOOL),
    (14, DType::BF16),
    (17, DType::U16),
    (18, DType::C128),
    (19, DType::F16),
    (22, DType::U32),
    (23, DType::U64),
    (24, DType::F8_E5M2),
    (25, DType::F8_E4M3FN),
    (26, DType::F8_E4M3FNUZ),
    (27, DType::F8_E4M3B11FNUZ),
    (28, DType::F8_E5M2FNUZ),
    (29, DType::I4),
    (30, DType::U4),
    (31, DType::I2),
    (32, DType::U2),
    (33, DType::F4_E2M1FN),
];

/// Returns the element type of a number.
pub(crate) fn from_number(number: i32) -> Option<DType> {
    let found = TYPES.iter().find(|(known, _)| *known == number);
    found.map(|(_, dtype)| *dtype)
}

/// Returns the number of an element type.
pub(crate) fn number_of(dtype: DType) -> Option<i32> {
    let found = TYPES.iter().find(|(_, known)| *known == dtype);
    found.map(|(number, _)| *number)
}

/// Returns the name of a number that has no element type here, as TensorFlow has it.
pub(crate) fn name_of(number: i32) -> String {
    let name = match number {
        7 => "DT_STRING",
        11 => "DT_QINT8",
        12 => "DT_QUINT8",
        13 => "DT_QINT32",
        15 => "DT_QINT16",
        16 => "DT_QUINT16",
        20 => "DT_RESOURCE",
        21 => "DT_VARIANT",
        _ => return format!("number {number}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_leads_to_its_type_and_back() {
        for (number, dtype) in TYPES {
            assert_eq!(from_number(number), Some(dtype));
            assert_eq!(number_of(dtype), Some(number));
        }
        assert_eq!((from_number(7), from_number(0)), (None, None));
        assert_eq!(number_of(DType::F6_E2M3FN), None);
        assert_eq!(name_of(7), "DT_STRING");
    }
}
