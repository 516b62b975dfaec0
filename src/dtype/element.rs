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
/// every pattern of bits is a value of it, unless [`ANY_BITS`](Self::ANY_BITS) is false: then
/// all-zero bits are a value, and [`is_valid`](Self::is_valid) tells which others are.
pub unsafe trait Element: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;

    /// Whether every pattern of bits is a value.
    const ANY_BITS: bool = true;

    /// Returns whether this byte is a value; only asked of types that aren't
    /// [`ANY_BITS`](Self::ANY_BITS), all of which are one byte.
    #[doc(hidden)]
    fn is_valid(_byte: u8) -> bool {
        true
    }
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

    fn is_valid(byte: u8) -> bool {
        byte <= 1
    }
}

mod sealed {
    pub trait Sealed {}
}
