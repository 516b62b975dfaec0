//! Numbers, with the arithmetic that the ops promise.

use dlbridge::Element;
use half::{bf16, f16};
use std::cmp::Ordering;
use std::fmt::Debug;

pub(crate) trait Number: Element + PartialEq + Debug {
    fn of(small: i8) -> Self;
    fn of_one() -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn compare(self, other: Self) -> Option<Ordering>;
    fn sum(all: impl Iterator<Item = Self>) -> Self;
    fn sum_of_products(all: impl Iterator<Item = (Self, Self)>) -> Self;
}

/// Floats, and how exact what is calculated with them is.
pub(crate) trait Float: Number {
    /// Half of the distance between 1 and the next number.
    const ROUNDING: f64;
    /// The least number above 0.
    const SMALLEST: f64;

    fn div(self, other: Self) -> Self;
    fn mean(all: impl Iterator<Item = Self>) -> Self;
    fn to_f64(self) -> f64;

    /// Whether a result that was rounded once, after some steps of this type or at least `f32`, is
    /// right.
    fn is_close(self, exact: f64) -> bool {
        let found = self.to_f64();
        let steps = 40.0 * (0.5_f64).powi(24).min(Self::ROUNDING);
        let allowed = exact.abs() * (Self::ROUNDING + steps) + Self::SMALLEST.max(1e-37);
        found == exact || (found - exact).abs() <= allowed || found.is_nan() && exact.is_nan()
    }
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn of(small: i8) -> Self {
                small as $ty
            }
            fn of_one() -> Self {
                1
            }
            // As wide as can be, and then cut off.
            fn add(self, other: Self) -> Self {
                (self as i128 + other as i128) as $ty
            }
            fn sub(self, other: Self) -> Self {
                (self as i128 - other as i128) as $ty
            }
            fn mul(self, other: Self) -> Self {
                (self as i128).wrapping_mul(other as i128) as $ty
            }
            fn compare(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
            fn sum(all: impl Iterator<Item = Self>) -> Self {
                all.map(|x| x as i128).sum::<i128>() as $ty
            }
            fn sum_of_products(all: impl Iterator<Item = (Self, Self)>) -> Self {
                all.fold(0, |sum: i128, (a, b)| {
                    sum.wrapping_add((a as i128).wrapping_mul(b as i128))
                }) as $ty
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $Sum:ty, $from:expr, $up:expr, $down:expr, $digits:expr, $smallest:expr;)*) => {$(
        impl Number for $ty {
            fn of(small: i8) -> Self {
                let from: fn(i8) -> $ty = $from;
                from(small)
            }
            fn of_one() -> Self {
                let down: fn($Sum) -> $ty = $down;
                down(1.0)
            }
            // Of numbers of a few digits that is exact, so that it is rounded once.
            fn add(self, other: Self) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(up(self) + up(other))
            }
            fn sub(self, other: Self) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(up(self) - up(other))
            }
            fn mul(self, other: Self) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(up(self) * up(other))
            }
            fn compare(self, other: Self) -> Option<Ordering> {
                self.partial_cmp(&other)
            }
            fn sum(all: impl Iterator<Item = Self>) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(all.fold(0.0, |sum, x| sum + up(x)))
            }
            fn sum_of_products(all: impl Iterator<Item = (Self, Self)>) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(all.fold(0.0, |sum, (a, b)| sum + up(a) * up(b)))
            }
        }

        impl Float for $ty {
            const ROUNDING: f64 = 1.0 / (1_u64 << $digits) as f64;
            const SMALLEST: f64 = $smallest;

            fn div(self, other: Self) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(up(self) / up(other))
            }
            fn mean(all: impl Iterator<Item = Self>) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                let (count, sum) = all.fold((0.0, 0.0), |(count, sum), x| (count + 1.0, sum + up(x)));
                down(sum / count)
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats! {
    f16, f32, |x| f16::from_f32(x.into()), f16::to_f32, f16::from_f32, 11, 6e-8;
    bf16, f32, |x| bf16::from_f32(x.into()), bf16::to_f32, bf16::from_f32, 8, 1e-40;
    f32, f64, |x| f32::from(x) / 8.0, f64::from, |sum| sum as f32, 24, 1e-45;
    f64, f64, |x| f64::from(x) / 8.0, |x| x, |sum| sum, 53, 5e-324;
}
