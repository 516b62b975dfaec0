//! Traits of the element types that ops calculate with.

use crate::dtype::Element;
use half::{bf16, f16};

/// A number. Integer arithmetic wraps around, as in NumPy and PyTorch.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Number: Element + PartialOrd {
    /// The accumulator of sums.
    type Sum: Copy;

    const EMPTY_SUM: Self::Sum;
    /// No element is less.
    const LOWEST: Self;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;

    /// Returns the sum with one more product.
    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    fn add_one(sum: Self::Sum, a: Self) -> Self::Sum;
    fn from_sum(sum: Self::Sum) -> Self;

    /// Returns the larger one, or NaN if either is NaN.
    fn max_or_nan(self, other: Self) -> Self {
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
    /// The type of intermediate results, which are rounded once, at the end.
    type Wide: Wide;

    fn div(self, other: Self) -> Self;
    /// Divides a sum by a count: the mean.
    fn mean(sum: Self::Sum, count: usize) -> Self;
    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
}

/// A float type that intermediate results have.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Wide: Float<Wide = Self> {
    fn from_f64(number: f64) -> Self;
    fn exp(self) -> Self;
    fn sqrt(self) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            type Sum = Self;
            const EMPTY_SUM: Self = 0;
            const LOWEST: Self = Self::MIN;

            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn mul(self, other: Self) -> Self {
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
            const EMPTY_SUM: $Sum = 0.0;
            const LOWEST: Self = <$ty>::NEG_INFINITY;

            fn add(self, other: Self) -> Self {
                self + other
            }
            fn sub(self, other: Self) -> Self {
                self - other
            }
            fn mul(self, other: Self) -> Self {
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

            fn div(self, other: Self) -> Self {
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
            fn from_f64(number: f64) -> Self {
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
