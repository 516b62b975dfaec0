//! Groups of element types that several frameworks have.

use crate::dtype::DType;

/// Returns whether it is one of those that all frameworks but MXNet have.
pub(super) fn is_common(dtype: DType) -> bool {
    const COMMON: [DType; 9] = [
        DType::BOOL,
        DType::U8,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::F32,
        DType::F64,
    ];
    COMMON.contains(&dtype)
}

/// Returns whether it is an unsigned integer of more than a byte.
pub(super) fn is_wide_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U16 | DType::U32 | DType::U64)
}

/// Returns whether it is complex64 or complex128.
pub(super) fn is_complex(dtype: DType) -> bool {
    matches!(dtype, DType::C64 | DType::C128)
}
