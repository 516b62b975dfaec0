//! [`Element`]: the Rust types that tensors are made of.

use super::DType;
use half::{bf16, f16};
use num_complex::Complex;

/// A Rust type that is an element type.
///
/// It is implemented for the integers, `f16` and `bf16` of the `half` crate, `f32`, `f64`,
/// `Complex` of the `num-complex` crate, `bool`, and the 8-bit floating-point types of this crate.
/// Sealed: the list is DLPack's.
///
/// # Safety
///
/// The type's size is that of [`DTYPE`](Self::DTYPE), which has one lane; it has no padding; and
/// every pattern of bits is a value of it, unless [`ANY_BITS`](Self::ANY_BITS) is false, which it
/// is of `bool` alone.
pub unsafe trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;

    /// Whether every pattern of bits is a value.
    const ANY_BITS: bool = true;
}

/// Returns the first byte that isn't 0 or 1, the values of `bool`.
///
/// Many are checked at once, in a loop that becomes one of vectors: not in a caller for rare cases,
/// where loops are compiled to be small.
#[inline(never)]
pub(crate) fn find_invalid_bool(bytes: &[u8]) -> Option<u8> {
    let has_one = |bytes: &&[u8]| bytes.iter().fold(0, |all, byte| all | byte) > 1;
    let chunk = bytes.chunks(4096).find(has_one)?;
    chunk.iter().copied().find(|byte| *byte > 1)
}

impl DType {
    /// Returns the dtype of a Rust type.
    pub const fn of<T: Element>() -> Self {
        T::DTYPE
    }
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),* $(,)?) => {$(
        impl sealed::Sealed for $ty {}
        // SAFETY: plain numbers without padding, of the size that the assertion compares.
        unsafe impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
        const _: () = assert!(size_of::<$ty>() * 8 == DType::$dtype.item_bits());
    )*};
}

elements! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
    Complex<f16> => C32, Complex<f32> => C64, Complex<f64> => C128,
    super::F8E3M4 => F8_E3M4, super::F8E4M3 => F8_E4M3,
    super::F8E4M3B11Fnuz => F8_E4M3B11FNUZ, super::F8E4M3Fn => F8_E4M3FN,
    super::F8E4M3Fnuz => F8_E4M3FNUZ, super::F8E5M2 => F8_E5M2,
    super::F8E5M2Fnuz => F8_E5M2FNUZ, super::F8E8M0Fnu => F8_E8M0FNU,
}

impl sealed::Sealed for bool {}
// SAFETY: a bool is one byte; 0 and 1 are its values.
unsafe impl Element for bool {
    const DTYPE: DType = DType::BOOL;
    const ANY_BITS: bool = false;
}

mod sealed {
    pub trait Sealed {}
}
