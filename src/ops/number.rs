//! The numbers that ops calculate with.

use crate::dtype::Element;
use half::{bf16, f16};

/// A number: sums and products of integers wrap around, as in NumPy and PyTorch.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Number: Element {
    /// What many are added up in.
    type Sum: Copy;

    const NOTHING: Self::Sum;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// A sum, and one more product.
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    fn add_one(sum: Self::Sum, a: Self) -> Self::Sum;
    fn from_sum(sum: Self::Sum) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            type Sum = Self;
            const NOTHING: Self = 0;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn add_product(sum: Self, a: Self, b: Self) -> Self {
                sum.wrapping_add(a.wrapping_mul(b))
            }
            fn add_one(sum: Self, a: Self) -> Self {
                sum.wrapping_add(a)
            }
            fn from_sum(sum: Self) -> Self {
                sum
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $Sum:ty, $up:expr, $down:expr;)*) => {$(
        impl Number for $ty {
            type Sum = $Sum;
            const NOTHING: $Sum = 0.0;

            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn add_product(sum: $Sum, a: Self, b: Self) -> $Sum {
                let up: fn($ty) -> $Sum = $up;
                sum + up(a) * up(b)
            }
            fn add_one(sum: $Sum, a: Self) -> $Sum {
                let up: fn($ty) -> $Sum = $up;
                sum + up(a)
            }
            fn from_sum(sum: $Sum) -> Self {
                let down: fn($Sum) -> $ty = $down;
                down(sum)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats! {
    f16, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32;
    f32, f64, f64::from, |sum| sum as f32;
    f64, f64, |x| x, |sum| sum;
}
