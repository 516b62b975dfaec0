//! [`Number`] and [`Float`]: element types that generic functions calculate with.

use crate::dtype::{Element, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, round_to_odd};
use half::{bf16, f16};
use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// An integer or a float: the operators, and conversion from and to `f64`.
///
/// The operators are the type's own: those of integers panic on overflow in a debug build.
///
/// ```
/// use dlbridge::Number;
/// use dlbridge::half::f16;
///
/// fn largest<T: Number>(x: &[T]) -> T {
///     x.iter().copied().fold(T::MIN, |a, b| if b > a { b } else { a })
/// }
///
/// assert_eq!(largest(&[1_u8, 5, 3]), 5);
/// assert_eq!(largest(&[f16::from_f32(-1.0), f16::NEG_INFINITY]).to_f64(), -1.0);
/// ```
pub trait Number:
    Element
    + PartialOrd
    + Default
    + Debug
    + Display
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
{
    /// What sums and products are best calculated with: `f32` for floats of up to 32 bits, and
    /// `f64`, `i64` and `u64`. Sums of 16-bit floats lose most of their digits; as `f32` they are
    /// rounded once, when the result is stored.
    type Wide: Number;

    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// No number is less: of floats, negative infinity.
    const MIN: Self;
    /// No number is greater: of floats, infinity.
    const MAX: Self;

    /// Returns the same number.
    fn widen(self) -> Self::Wide;

    /// Returns the nearest number, of two that are as near the even one. Integers saturate.
    fn narrow(wide: Self::Wide) -> Self;

    /// Returns the nearest number, of two that are as near the even one. Integers saturate, are
    /// rounded towards 0, and have 0 for NaN, as with `as`.
    fn from_f64(number: f64) -> Self;

    /// Returns the number as an `f64`: the nearest one for integers beyond 2^53, else the same.
    fn to_f64(self) -> f64;

    /// Returns the nearest number, as [`from_f64`](Self::from_f64) does.
    #[inline(always)]
    fn from_f32(number: f32) -> Self {
        Self::from_f64(f64::from(number))
    }

    /// Returns the nearest `f32`, rounded once.
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self.to_f64() as f32
    }
}

/// A float: `f16`, `bf16`, `f32` or `f64`. What it is calculated with ([`Wide`](Number::Wide)) is a
/// float too.
///
/// ```
/// use dlbridge::{Float, Number};
/// use dlbridge::half::bf16;
///
/// /// The root of the mean square, summed up in the wide type.
/// fn rms<T: Float>(x: &[T]) -> T {
///     let squares: T::Wide = x.iter().map(|x| x.widen() * x.widen()).sum();
///     T::narrow((squares / T::Wide::from_f64(x.len() as f64)).sqrt())
/// }
///
/// assert_eq!(rms(&[3.0_f64, 4.0]), 12.5_f64.sqrt());
/// assert_eq!(rms(&[bf16::from_f32(2.0); 1000]).to_f32(), 2.0);
/// ```
pub trait Float: Number<Wide = <Self as Float>::WideFloat> + Neg<Output = Self> {
    /// The type [`Wide`](Number::Wide), as a float.
    type WideFloat: Float;

    /// Not a number.
    const NAN: Self;
    /// The difference between 1 and the next greater number.
    const EPSILON: Self;

    /// Returns whether this isn't a number.
    fn is_nan(self) -> bool;
    /// Returns whether this is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// Returns the absolute value.
    fn abs(self) -> Self;
    /// Returns the square root; NaN for less than 0.
    fn sqrt(self) -> Self;
    /// Returns e to this power.
    fn exp(self) -> Self;
    /// Returns the natural logarithm.
    fn ln(self) -> Self;
    /// Returns the sine of an angle in radians.
    fn sin(self) -> Self;
    /// Returns the cosine of an angle in radians.
    fn cos(self) -> Self;
    /// Returns the hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Returns this to a power.
    fn powf(self, power: Self) -> Self;
    /// Returns `self * a + b`, of `f32` and `f64` rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns the greater of two numbers; of a number and NaN the number.
    fn max(self, other: Self) -> Self;
    /// Returns the lesser of two numbers; of a number and NaN the number.
    fn min(self, other: Self) -> Self;
}

macro_rules! integers {
    ($Wide:ident: $($ty:ty),*) => {$(
        impl Number for $ty {
            type Wide = $Wide;

            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MIN: Self = <$ty>::MIN;
            const MAX: Self = <$ty>::MAX;

            #[inline(always)]
            fn widen(self) -> $Wide {
                self.into()
            }
            #[inline(always)]
            fn narrow(wide: $Wide) -> Self {
                wide.clamp($Wide::from(<$ty>::MIN), $Wide::from(<$ty>::MAX)) as Self
            }
            #[inline(always)]
            fn from_f64(number: f64) -> Self {
                number as Self
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
        }
    )*};
}

integers!(i64: i8, i16, i32, i64);
integers!(u64: u8, u16, u32, u64);

macro_rules! floats {
    ($($ty:ident),*) => {$(
        impl Number for $ty {
            type Wide = Self;

            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MIN: Self = <$ty>::NEG_INFINITY;
            const MAX: Self = <$ty>::INFINITY;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }
            #[inline(always)]
            fn from_f64(number: f64) -> Self {
                number as Self
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }

        impl Float for $ty {
            type WideFloat = <Self as Number>::Wide;

            const NAN: Self = <$ty>::NAN;
            const EPSILON: Self = <$ty>::EPSILON;

            floats!(@one $ty: is_nan -> bool, is_finite -> bool, abs -> Self, sqrt -> Self,
                exp -> Self, ln -> Self, sin -> Self, cos -> Self, tanh -> Self);

            #[inline(always)]
            fn powf(self, power: Self) -> Self {
                <$ty>::powf(self, power)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                <$ty>::mul_add(self, a, b)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$ty>::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                <$ty>::min(self, other)
            }
        }
    )*};
    (@one $ty:ident: $($name:ident -> $R:ty),*) => {$(
        #[inline(always)]
        fn $name(self) -> $R {
            <$ty>::$name(self)
        }
    )*};
}

floats!(f32, f64);

macro_rules! short_floats {
    ($($ty:ident, $widen:ident, $narrow:ident;)*) => {$(
        impl Number for $ty {
            type Wide = f32;

            const ZERO: Self = <$ty>::ZERO;
            const ONE: Self = <$ty>::ONE;
            const MIN: Self = <$ty>::NEG_INFINITY;
            const MAX: Self = <$ty>::INFINITY;

            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.to_bits())
            }
            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                Self::from_bits($narrow(wide))
            }
            /// Rounds once: what the conversion to `f32` loses leaves its last bit set.
            #[inline(always)]
            fn from_f64(number: f64) -> Self {
                Self::narrow(round_to_odd(number))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.widen().into()
            }
            #[inline(always)]
            fn from_f32(number: f32) -> Self {
                Self::narrow(number)
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self.widen()
            }
        }

        impl Float for $ty {
            type WideFloat = <Self as Number>::Wide;

            const NAN: Self = <$ty>::NAN;
            const EPSILON: Self = <$ty>::EPSILON;

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$ty>::is_finite(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                let sign = (-<$ty>::ZERO).to_bits();
                Self::from_bits(self.to_bits() & !sign)
            }
            short_floats!(@wide sqrt, exp, ln, sin, cos, tanh);

            #[inline(always)]
            fn powf(self, power: Self) -> Self {
                Self::narrow(self.widen().powf(power.widen()))
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                <Self as Number>::from_f64(self.to_f64() * a.to_f64() + b.to_f64())
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$ty>::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                <$ty>::min(self, other)
            }
        }
    )*};
    (@wide $($name:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            Self::narrow(self.widen().$name())
        }
    )*};
}

short_floats! {
    f16, f16_to_f32, f32_to_f16;
    bf16, bf16_to_f32, f32_to_bf16;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number>(exact: &[f64]) {
        assert_eq!(T::ZERO.to_f64(), 0.0);
        assert_eq!(T::ONE.to_f64(), 1.0);
        assert!(T::MIN <= T::ZERO);
        for x in exact {
            assert_eq!(T::from_f64(*x).to_f64(), *x, "{}", T::DTYPE);
            assert_eq!(T::from_f64(*x).to_f32(), *x as f32);
            assert_eq!(T::narrow(T::from_f64(*x).widen()).to_f64(), *x);
        }
    }

    #[test]
    fn number_converts_exactly_what_it_can_hold() {
        let small = [0.0, 1.0, 2.0, 100.0];
        check::<u8>(&small);
        check::<u16>(&small);
        check::<u32>(&small);
        check::<u64>(&small);
        check::<i8>(&[-128.0, -1.0, 127.0]);
        check::<i16>(&[-32768.0, 5.0]);
        check::<i32>(&[-2147483648.0, 5.0]);
        check::<i64>(&[-9007199254740992.0, 5.0]);
        check::<f16>(&[-0.5, 65504.0, f64::powi(2.0, -14)]);
        check::<bf16>(&[-0.5, 3.0, f64::INFINITY]);
        check::<f32>(&[-0.5, 16777215.0]);
        check::<f64>(&[-0.1, f64::MAX]);
    }

    #[test]
    fn from_f64_saturates_integers_and_rounds_floats_once() {
        assert_eq!(u8::from_f64(300.0), 255);
        assert_eq!((i8::narrow(-200), u16::narrow(1 << 20)), (-128, 65535));
        assert_eq!(i8::from_f64(f64::NAN), 0);
        let below_tie = 1.0 + f64::powi(2.0, -9) + f64::powi(2.0, -40);
        assert_eq!(<bf16 as Number>::from_f64(below_tie).to_bits(), 0x3f80);
        // As `f32` these would be ties, and go to the even number below. The types' own functions
        // of this name look at 32 bits.
        let above_tie = 1.0 + f64::powi(2.0, -8) + f64::powi(2.0, -40);
        assert_eq!(<bf16 as Number>::from_f64(above_tie).to_bits(), 0x3f81);
        let above_tie = 1.0 + f64::powi(2.0, -11) + f64::powi(2.0, -40);
        assert_eq!(<f16 as Number>::from_f64(above_tie).to_bits(), 0x3c01);
    }

    fn functions<T: Float>() {
        let four = T::from_f64(4.0);
        assert_eq!(four.sqrt().to_f64(), 2.0);
        assert_eq!((-four).abs().to_f64(), 4.0);
        assert!(T::NAN.is_nan() && !T::MAX.is_finite() && four.is_finite());
        assert_eq!(four.mul_add(four, T::ONE).to_f64(), 17.0);
        assert_eq!(four.max(T::NAN).to_f64(), 4.0);
        assert_eq!(four.min(T::ONE).to_f64(), 1.0);
        assert_eq!(four.powf(T::from_f64(0.5)).to_f64(), 2.0);
        assert_eq!(T::ZERO.exp().to_f64(), 1.0);
        assert_eq!(T::ONE.ln().to_f64(), 0.0);
        assert_eq!(T::ZERO.sin().to_f64() + T::ZERO.tanh().to_f64(), 0.0);
        assert_eq!(T::ZERO.cos().to_f64(), 1.0);
        assert!(T::ONE + T::EPSILON > T::ONE);
    }

    #[test]
    fn float_functions_of_every_type() {
        functions::<f16>();
        functions::<bf16>();
        functions::<f32>();
        functions::<f64>();
    }
}
