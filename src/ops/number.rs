//! Traits of the element types that ops calculate with.

mod total;

use crate::compute::{self, elementwise::Widen, math::Math};
use crate::dtype::Element;
use crate::number;
use half::{bf16, f16};
pub(super) use total::{Compensated, Total};

/// A number. Integer arithmetic wraps around, as in NumPy and PyTorch.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Number: Element + PartialOrd {
    /// The accumulator of a sum of up to a few thousand elements.
    type Lane: Copy;
    /// The accumulator of a sum of any number of elements.
    type Total: Copy;

    const EMPTY_LANE: Self::Lane;
    const EMPTY_TOTAL: Self::Total;
    /// No element is less.
    const LOWEST: Self;
    /// No element is greater.
    const HIGHEST: Self;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn negative(self) -> Self;
    fn absolute(self) -> Self;
    /// Returns 0 for less than 0, and the number itself otherwise, or NaN.
    fn relu(self) -> Self;

    fn add_to_lane(lane: Self::Lane, x: Self) -> Self::Lane;
    fn join_lanes(a: Self::Lane, b: Self::Lane) -> Self::Lane;
    fn add_lane(total: Self::Total, lane: Self::Lane) -> Self::Total;
    fn combine(total: Self::Total, later: Self::Total) -> Self::Total;
    fn from_total(total: Self::Total) -> Self;

    /// Returns the larger one, or NaN if either is NaN.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
    fn max_or_nan(self, other: Self) -> Self {
        if other > self || other != other {
            other
        } else {
            self
        }
    }

    /// Returns the smaller one, or NaN if either is NaN.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
    fn min_or_nan(self, other: Self) -> Self {
        if other < self || other != other {
            other
        } else {
            self
        }
    }
}

/// A number that can be divided.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Float: Number + Widen<Wide: Wide> {
    /// Returns the nearest number.
    fn rounded(number: f64) -> Self;
    /// Divides a total by a count: the mean.
    fn mean_of(total: Self::Total, count: usize) -> Self;
}

/// A float type that intermediate results have.
#[allow(
    dead_code,
    reason = "a build can leave out the ops that need some of it"
)]
pub(super) trait Wide:
    Number + Widen<Wide = Self> + Math + compute::lines::Float + Into<f64>
{
    fn div(self, other: Self) -> Self;
    fn from_f64(number: f64) -> Self;
    /// Returns the product with another number, and a third one, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
}

macro_rules! integers {
    ($($ty:ident, $Lane:ident, $Total:ident;)*) => {$(
        impl Number for $ty {
            type Lane = $Lane;
            type Total = $Total;
            const EMPTY_LANE: $Lane = 0;
            const EMPTY_TOTAL: $Total = 0;
            const LOWEST: Self = Self::MIN;
            const HIGHEST: Self = Self::MAX;

            #[inline(always)]
            fn add_to_lane(lane: $Lane, x: Self) -> $Lane {
                lane.wrapping_add($Lane::from(x))
            }
            #[inline(always)]
            fn join_lanes(a: $Lane, b: $Lane) -> $Lane {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn add_lane(total: $Total, lane: $Lane) -> $Total {
                total.wrapping_add($Total::from(lane))
            }
            #[inline(always)]
            fn combine(total: $Total, later: $Total) -> $Total {
                total.wrapping_add(later)
            }
            #[inline(always)]
            fn from_total(total: $Total) -> Self {
                total as $ty
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                (0 as $ty).wrapping_sub(self)
            }
            #[inline(always)]
            #[allow(unused_comparisons, reason = "unsigned integers are never below 0")]
            fn absolute(self) -> Self {
                if self < 0 { self.negative() } else { self }
            }
            #[inline(always)]
            fn relu(self) -> Self {
                self.max(0)
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $Lane:ty, $lane:expr, $Total:ty, $round:expr;)*) => {$(
        impl Number for $ty {
            type Lane = $Lane;
            type Total = $Total;
            const EMPTY_LANE: $Lane = 0.0;
            const EMPTY_TOTAL: $Total = <$Total>::ZERO;
            const LOWEST: Self = <$ty>::NEG_INFINITY;
            const HIGHEST: Self = <$ty>::INFINITY;

            #[inline(always)]
            fn add_to_lane(lane: $Lane, x: Self) -> $Lane {
                let up: fn($ty) -> $Lane = $lane;
                lane + up(x)
            }
            #[inline(always)]
            fn join_lanes(a: $Lane, b: $Lane) -> $Lane {
                a + b
            }
            #[inline(always)]
            fn add_lane(total: $Total, lane: $Lane) -> $Total {
                Total::add(total, f64::from(lane))
            }
            #[inline(always)]
            fn combine(total: $Total, later: $Total) -> $Total {
                Total::combine(total, later)
            }
            fn from_total(total: $Total) -> Self {
                let round: fn(f64) -> $ty = $round;
                round(total.sum())
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }
            #[inline(always)]
            fn absolute(self) -> Self {
                let sign = (-<$ty>::from_bits(0)).to_bits();
                Self::from_bits(self.to_bits() & !sign)
            }
            #[inline(always)]
            fn relu(self) -> Self {
                // One that is less than 0 has a sign, and isn't NaN.
                if self < <$ty>::from_bits(0) { <$ty>::from_bits(0) } else { self }
            }
        }

        impl Float for $ty {
            #[inline(always)]
            fn rounded(number: f64) -> Self {
                let round: fn(f64) -> $ty = $round;
                round(number)
            }
            #[inline(always)]
            fn mean_of(total: $Total, count: usize) -> Self {
                Self::rounded(total.sum() / count as f64)
            }
        }
    )*};
}

macro_rules! wide {
    ($($ty:ident),*) => {$(
        impl Wide for $ty {
            #[inline(always)]
            fn from_f64(number: f64) -> Self {
                number as $ty
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
        }
    )*};
}

// Lanes hold the sum of a few thousand elements.
integers! {
    i8, i32, i64;
    i16, i32, i64;
    i32, i64, i64;
    i64, i64, i64;
    u8, u32, u64;
    u16, u32, u64;
    u32, u64, u64;
    u64, u64, u64;
}

floats! {
    f16, f32, Widen::widen, f64, number::Number::from_f64;
    bf16, f32, Widen::widen, f64, number::Number::from_f64;
    f32, f64, f64::from, f64, |sum| sum as f32;
    f64, f64, |x| x, Compensated, |sum| sum;
}
wide!(f32, f64);
