//! Groups of element types that several frameworks have.

use crate::dtype::DType;

/// Returns whether it is one of those that all frameworks but MXNet have.
pub(super) fn is_common(dtype: DType) -> bool {
    is_common_number(dtype) || dtype == DType::BOOL
}

/// Returns whether it is one of those that all releases of these frameworks have.
#[inline]
pub(super) fn is_common_number(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::F32
            | DType::F64
            | DType::F16
            | DType::I64
            | DType::I32
            | DType::I16
            | DType::I8
            | DType::U8
    )
}

/// Returns whether it is an unsigned integer of more than a byte.
pub(super) fn is_wide_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U16 | DType::U32 | DType::U64)
}

/// Returns whether it is complex64 or complex128.
pub(super) fn is_complex(dtype: DType) -> bool {
    matches!(dtype, DType::C64 | DType::C128)
}
