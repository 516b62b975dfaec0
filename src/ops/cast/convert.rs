//! Numbers of each type as numbers of each other type, rounded once.

use crate::dtype::Element;
use half::{bf16, f16};

/// A number, on its way from one type to another one: as the widest of its kind.
pub(super) trait Number: Element {
    fn to<D: Number>(self) -> D;
    fn of_unsigned(number: u64) -> Self;
    fn of_signed(number: i64) -> Self;
    fn of_f32(number: f32) -> Self;
    fn of_f64(number: f64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty => $of:ident;)*) => {$(
        impl Number for $ty {
            fn to<D: Number>(self) -> D {
                D::$of(self.into())
            }
            fn of_unsigned(number: u64) -> Self {
                number as Self
            }
            fn of_signed(number: i64) -> Self {
                number as Self
            }
            fn of_f32(number: f32) -> Self {
                number as Self
            }
            fn of_f64(number: f64) -> Self {
                number as Self
            }
        }
    )*};
}

macro_rules! short_floats {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn to<D: Number>(self) -> D {
                D::of_f32(self.to_f32())
            }
            fn of_unsigned(number: u64) -> Self {
                Self::of_f64(almost(number))
            }
            fn of_signed(number: i64) -> Self {
                let size = almost(number.unsigned_abs());
                Self::of_f64(if number < 0 { -size } else { size })
            }
            fn of_f32(number: f32) -> Self {
                Self::from_f32(number)
            }
            fn of_f64(number: f64) -> Self {
                Self::from_f32(rounded_to_odd(number))
            }
        }
    )*};
}

numbers! {
    i8 => of_signed;
    i16 => of_signed;
    i32 => of_signed;
    i64 => of_signed;
    u8 => of_unsigned;
    u16 => of_unsigned;
    u32 => of_unsigned;
    u64 => of_unsigned;
    f32 => of_f32;
    f64 => of_f64;
}
short_floats!(f16, bf16);

impl Number for bool {
    fn to<D: Number>(self) -> D {
        D::of_unsigned(self.into())
    }
    fn of_unsigned(number: u64) -> Self {
        number != 0
    }
    fn of_signed(number: i64) -> Self {
        number != 0
    }
    fn of_f32(number: f32) -> Self {
        number != 0.0
    }
    fn of_f64(number: f64) -> Self {
        number != 0.0
    }
}

/// Returns a number as a `f32` that lies on the same side of every shorter float, and of the middle
/// between two of them, so that rounding it gives what rounding the number does. Where something is
/// lost the last bit says so: no shorter float has it set, and no such middle.
fn rounded_to_odd(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) == number || number.is_nan() {
        return nearest;
    }
    let is_too_large = f64::from(nearest).abs() > number.abs();
    let towards_zero = nearest.to_bits() - u32::from(is_too_large);
    f32::from_bits(towards_zero | 1)
}

/// Returns the same of an integer as a `f64`.
fn almost(number: u64) -> f64 {
    const LOST: u64 = (1 << (u64::BITS - f64::MANTISSA_DIGITS)) - 1;
    match number >> f64::MANTISSA_DIGITS {
        0 => number as f64,
        _ => (number & !LOST | u64::from(number & LOST != 0) << LOST.count_ones()) as f64,
    }
}
