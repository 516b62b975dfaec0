//! Element types that each framework has.

use crate::dtype::{DType, TypeCode};

/// The types that all frameworks but the oldest have, of one lane each.
fn is_common(dtype: DType) -> bool {
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

fn is_wide_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U16 | DType::U32 | DType::U64)
}

fn is_complex(dtype: DType) -> bool {
    matches!(dtype, DType::C64 | DType::C128)
}

pub(in crate::python) fn has_torch(dtype: DType) -> bool {
    is_common(dtype)
        || is_wide_unsigned(dtype)
        || is_complex(dtype)
        // Two of them are one element.
        || (dtype.code() == TypeCode::Float4E2M1Fn && dtype.lanes() == 2)
        || matches!(
            dtype,
            DType::BF16
                | DType::C32
                | DType::F8_E4M3FN
                | DType::F8_E4M3FNUZ
                | DType::F8_E5M2
                | DType::F8_E5M2FNUZ
                | DType::F8_E8M0FNU
        )
}

pub(in crate::python) fn has_jax(dtype: DType) -> bool {
    is_common(dtype)
        || is_wide_unsigned(dtype)
        || is_complex(dtype)
        || matches!(
            dtype,
            DType::BF16
                | DType::F8_E3M4
                | DType::F8_E4M3
                | DType::F8_E4M3B11FNUZ
                | DType::F8_E4M3FN
                | DType::F8_E4M3FNUZ
                | DType::F8_E5M2
                | DType::F8_E5M2FNUZ
                | DType::F8_E8M0FNU
        )
}

pub(in crate::python) fn has_tensorflow(dtype: DType) -> bool {
    // Lanes it doesn't look at.
    is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype) || dtype == DType::BF16
}

pub(in crate::python) fn has_paddle(dtype: DType) -> bool {
    // It takes uint16 for bfloat16.
    is_common(dtype)
        || is_complex(dtype)
        || matches!(
            dtype,
            DType::U32 | DType::U64 | DType::BF16 | DType::F8_E4M3FN | DType::F8_E5M2
        )
}

pub(in crate::python) fn has_mlx(dtype: DType) -> bool {
    is_common(dtype) || is_wide_unsigned(dtype) || matches!(dtype, DType::BF16 | DType::C64)
}

pub(in crate::python) fn has_cupy(dtype: DType) -> bool {
    is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype) || dtype == DType::BF16
}

pub(in crate::python) fn has_pyarrow(dtype: DType) -> bool {
    // Its truth values are packed, eight a byte.
    dtype != DType::BOOL && (is_common(dtype) || is_wide_unsigned(dtype))
}

pub(in crate::python) fn has_mxnet(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::U8 | DType::I8 | DType::I32 | DType::I64 | DType::F16 | DType::F32 | DType::F64
    )
}

pub(in crate::python) fn has_onnxruntime(dtype: DType) -> bool {
    is_common(dtype) || is_wide_unsigned(dtype) || dtype == DType::BF16
}
