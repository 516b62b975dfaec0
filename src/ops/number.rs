//! The numbers that ops calculate with.

use crate::dtype::Element;
use half::{bf16, f16};

/// A number: sums, differences and products of integers wrap around, as in NumPy and PyTorch.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Number: Element + PartialOrd {
    /// What many are added up in.
    type Sum: Copy;

    const NOTHING: Self::Sum;
    /// None is less.
    const LEAST: Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// Creates a sum, and one more product.
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    fn add_one(sum: Self::Sum, a: Self) -> Self::Sum;
    fn from_sum(sum: Self::Sum) -> Self;

    /// Returns the larger one, or NaN if either is NaN.
    fn larger(self, other: Self) -> Self {
        let is_none = other.partial_cmp(&other).is_none();
        if other > self || is_none { other } else { self }
    }
}

/// A number that can be divided.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Float: Number {
    /// What it is where something is calculated in several steps, to be rounded after the last.
    type Wide: Wide;

    fn over(self, other: Self) -> Self;
    /// Divides a sum by a count: the mean.
    fn mean(sum: Self::Sum, count: usize) -> Self;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

/// A float with functions.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Wide: Float<Wide = Self> {
    fn of(number: f64) -> Self;
    fn exp(self) -> Self;
    fn sqrt(self) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            type Sum = Self;
            const NOTHING: Self = 0;
            const LEAST: Self = Self::MIN;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
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
    ($($ty:ty, $Sum:ty, $up:expr, $down:expr, $Wide:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $ty {
            type Sum = $Sum;
            const NOTHING: $Sum = 0.0;
            const LEAST: Self = <$ty>::NEG_INFINITY;

            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
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

        impl Float for $ty {
            type Wide = $Wide;

            fn over(self, other: Self) -> Self {
                self / other
            }
            fn mean(sum: $Sum, count: usize) -> Self {
                Self::from_sum(sum / count as $Sum)
            }
            fn widen(self) -> $Wide {
                let widen: fn($ty) -> $Wide = $widen;
                widen(self)
            }
            fn narrow(wide: $Wide) -> Self {
                let narrow: fn($Wide) -> $ty = $narrow;
                narrow(wide)
            }
        }
    )*};
}

macro_rules! wide {
    ($($ty:ident),*) => {$(
        impl Wide for $ty {
            fn of(number: f64) -> Self {
                number as $ty
            }
            fn exp(self) -> Self {
                $ty::exp(self)
            }
            fn sqrt(self) -> Self {
                $ty::sqrt(self)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats! {
    f16, f32, f16::to_f32, f16::from_f32, f32, f16::to_f32, f16::from_f32;
    bf16, f32, bf16::to_f32, bf16::from_f32, f32, bf16::to_f32, bf16::from_f32;
    f32, f64, f64::from, |sum| sum as f32, f32, |x| x, |x| x;
    f64, f64, |x| x, |sum| sum, f64, |x| x, |x| x;
}
wide!(f32, f64);
