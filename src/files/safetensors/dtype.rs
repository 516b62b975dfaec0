//! The element types of safetensors.

use crate::dtype::DType;

/// Every element type, in the order in which the format's own library writes them, from last to
/// first.
const TYPES: [(&str, DType); 22] = [
    ("BOOL", DType::BOOL),
    ("F4", DType::F4_E2M1FN),
    ("F6_E2M3", DType::F6_E2M3FN),
    ("F6_E3M2", DType::F6_E3M2FN),
    ("U8", DType::U8),
    ("I8", DType::I8),
    ("F8_E5M2", DType::F8_E5M2),
    ("F8_E4M3", DType::F8_E4M3FN),
    ("F8_E8M0", DType::F8_E8M0FNU),
    ("F8_E4M3FNUZ", DType::F8_E4M3FNUZ),
    ("F8_E5M2FNUZ", DType::F8_E5M2FNUZ),
    ("I16", DType::I16),
    ("U16", DType::U16),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("I32", DType::I32),
    ("U32", DType::U32),
    ("F32", DType::F32),
    ("C64", DType::C64),
    ("F64", DType::F64),
    ("I64", DType::I64),
    ("U64", DType::U64),
];

/// Returns the element type of a name.
pub(super) fn from_name(name: &str) -> Option<DType> {
    let found = TYPES.iter().find(|(known, _)| *known == name);
    found.map(|(_, dtype)| *dtype)
}

/// Returns the name of an element type, and its place in the order.
pub(super) fn name_of(dtype: DType) -> Option<(usize, &'static str)> {
    let found = TYPES.iter().position(|(_, known)| *known == dtype);
    found.map(|place| (place, TYPES[place].0))
}
