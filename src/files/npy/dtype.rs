//! The element types of NumPy that tensors have, by their `descr`.

use crate::dtype::DType;

/// Kind and size in bytes, and the element type.
const TYPES: [(&str, &str, DType); 14] = [
    ("b1", "|b1", DType::BOOL),
    ("i1", "|i1", DType::I8),
    ("i2", "<i2", DType::I16),
    ("i4", "<i4", DType::I32),
    ("i8", "<i8", DType::I64),
    ("u1", "|u1", DType::U8),
    ("u2", "<u2", DType::U16),
    ("u4", "<u4", DType::U32),
    ("u8", "<u8", DType::U64),
    ("f2", "<f2", DType::F16),
    ("f4", "<f4", DType::F32),
    ("f8", "<f8", DType::F64),
    ("c8", "<c8", DType::C64),
    ("c16", "<c16", DType::C128),
];

/// Returns the element type, and whether it is big-endian. All orders but `>` are little-endian: as
/// in NumPy, `=`, `|` and none are the machine's own.
pub(super) fn from_descr(descr: &str) -> Option<(DType, bool)> {
    let kind = descr.strip_prefix(['<', '>', '=', '|']).unwrap_or(descr);
    let (_, _, dtype) = *TYPES.iter().find(|(known, ..)| *known == kind)?;
    Some((dtype, descr.starts_with('>')))
}

/// Returns the `descr` that NumPy writes.
pub(super) fn descr_of(dtype: DType) -> Option<&'static str> {
    let found = TYPES.iter().find(|(_, _, known)| *known == dtype);
    found.map(|(_, descr, _)| *descr)
}
