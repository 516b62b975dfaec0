//! ONNX's numbers of element types.

use crate::dtype::DType;

/// The element types from number 1 on; strings have none.
const TYPES: [Option<DType>; 28] = [
    Some(DType::F32),
    Some(DType::U8),
    Some(DType::I8),
    Some(DType::U16),
    Some(DType::I16),
    Some(DType::I32),
    Some(DType::I64),
    None,
    Some(DType::BOOL),
    Some(DType::F16),
    Some(DType::F64),
    Some(DType::U32),
    Some(DType::U64),
    Some(DType::C64),
    Some(DType::C128),
    Some(DType::BF16),
    Some(DType::F8_E4M3FN),
    Some(DType::F8_E4M3FNUZ),
    Some(DType::F8_E5M2),
    Some(DType::F8_E5M2FNUZ),
    Some(DType::U4),
    Some(DType::I4),
    Some(DType::F4_E2M1FN),
    Some(DType::F8_E8M0FNU),
    Some(DType::U2),
    Some(DType::I2),
    Some(DType::F6_E2M3FN),
    Some(DType::F6_E3M2FN),
];

/// Returns the element type of a number.
pub(super) fn from_number(number: i32) -> Option<DType> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    *TYPES.get(place)?
}

/// Returns the number of an element type.
pub(super) fn number_of(dtype: DType) -> Option<i32> {
    let place = TYPES.iter().position(|known| *known == Some(dtype))?;
    Some(place as i32 + 1)
}

/// Returns the name of a number that has no element type here, as ONNX has it.
pub(super) fn name_of(number: i32) -> String {
    match number {
        0 => "UNDEFINED".to_owned(),
        8 => "STRING".to_owned(),
        _ => format!("number {number}"),
    }
}
