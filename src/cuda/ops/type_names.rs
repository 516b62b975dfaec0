//! Names of element types in the kernels' sources.

use crate::dtype::DType;

/// Returns the name of a type, as in `types.cuh`.
pub(super) fn name_of(dtype: DType) -> &'static str {
    match dtype {
        DType::BOOL => "b8",
        DType::I8 => "i8",
        DType::I16 => "i16",
        DType::I32 => "i32",
        DType::I64 => "i64",
        DType::U8 => "u8",
        DType::U16 => "u16",
        DType::U32 => "u32",
        DType::U64 => "u64",
        DType::F16 => "f16",
        DType::BF16 => "bf16",
        DType::F32 => "f32",
        DType::F64 => "f64",
        _ => unreachable!("no kernel is registered for {dtype}"),
    }
}

/// Returns the bytes of an element of these.
pub(super) fn bytes_of(dtype: DType) -> usize {
    usize::from(dtype.bits()) / 8
}
