//! Rust types for the floating-point types of 8 bits.

use super::TypeCode;
use super::small_float::{Format, e8m0_to_f32};
use std::fmt;

macro_rules! float8 {
    ($($(#[$doc:meta])* $name:ident, $decode:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// It is for storage: convert it to `f32` to calculate.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Creates the number from its bit pattern.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the bit pattern.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Converts the number to `f32`, exactly.
            pub fn to_f32(self) -> f32 {
                ($decode)(self.0)
            }
        }

        impl From<$name> for f32 {
            fn from(number: $name) -> f32 {
                number.to_f32()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

fn decode(code: TypeCode, bits: u8) -> f32 {
    Format::from_code(code)
        .expect("a small format")
        .decode(bits)
}

float8! {
    /// 8 bits: 3 of exponent, 4 of mantissa, with infinities.
    F8E3M4, |bits| decode(TypeCode::Float8E3M4, bits);
    /// 8 bits: 4 of exponent, 3 of mantissa, with infinities.
    F8E4M3, |bits| decode(TypeCode::Float8E4M3, bits);
    /// 8 bits: 4 of exponent, biased by 11, 3 of mantissa; no infinities, no negative zero.
    F8E4M3B11Fnuz, |bits| decode(TypeCode::Float8E4M3B11Fnuz, bits);
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinities.
    F8E4M3Fn, |bits| decode(TypeCode::Float8E4M3Fn, bits);
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinities, no negative zero.
    F8E4M3Fnuz, |bits| decode(TypeCode::Float8E4M3Fnuz, bits);
    /// 8 bits: 5 of exponent, 2 of mantissa, with infinities.
    F8E5M2, |bits| decode(TypeCode::Float8E5M2, bits);
    /// 8 bits: 5 of exponent, 2 of mantissa; no infinities, no negative zero.
    F8E5M2Fnuz, |bits| decode(TypeCode::Float8E5M2Fnuz, bits);
    /// 8 bits of exponent: a power of two, or NaN.
    F8E8M0Fnu, e8m0_to_f32;
}
