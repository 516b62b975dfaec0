//! Elementary functions without branches or calls, so that loops of them can be vectorised. They
//! give the same bits at every SIMD level.

/// The parts that both types have, of the constants and functions of their modules.
macro_rules! parts {
    ($ty:ident) => {
        /// Returns the exponential of `x + low`, where `low` is small, as a product of three
        /// numbers: one about 1, and two powers of two, so that subnormal results are rounded and
        /// not lost.
        #[inline(always)]
        pub(super) fn exp_parts(x: $ty, low: Option<$ty>) -> ($ty, ($ty, $ty)) {
            let (n, exponent) = nearest(low.map_or(x, |low| x + low));
            let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
            let r = low.map_or(r, |low| r + low);
            let half = exponent >> 1;
            (expm1(r) + 1.0, (scale(half), scale(exponent - half)))
        }

        /// Returns x / (1 + exp(-gate)). Where `gate` is below 0, `x` is 1 or not much less than
        /// `gate`.
        #[inline(always)]
        pub(super) fn gated(x: $ty, gate: $ty) -> $ty {
            let negative = -gate.abs();
            let negative = if negative < GATE_LOWEST {
                GATE_LOWEST
            } else {
                negative
            };
            let (significand, scales) = exp_parts(negative, None);
            let power = significand * scales.0 * scales.1;
            let finite = if x < GATE_LOWEST { GATE_LOWEST } else { x };
            // Scaled last, so that nothing is lost of subnormal numbers.
            let is_below = gate < 0.0;
            let quotient = if is_below { finite * significand } else { x } / (1.0 + power);
            let first = if is_below { scales.0 } else { 1.0 };
            let second = if is_below { scales.1 } else { 1.0 };
            quotient * first * second
        }
    };
}

use parts;

mod double;
mod single;
#[cfg(test)]
mod tests;

/// Floats with elementary functions. What is within some ulp is so for results of full precision;
/// subnormal results are within as many of the least number.
pub trait Math: Copy {
    /// Returns e to this power, within 2 ulp.
    fn exp(self) -> Self;

    /// Returns e to this power, which is at most 0, within 2 ulp, or 0 where that would be about
    /// the least normal number or less: a cheaper [`exp`](Self::exp).
    fn exp_of_negative(self) -> Self;

    /// Returns the natural logarithm, within 1 ulp; of 0 it is -inf, and of less NaN.
    fn log(self) -> Self;

    /// Returns the square root, rounded once; of less than 0 it is NaN.
    fn sqrt(self) -> Self;

    /// Returns 1 over the square root, within 1.5 ulp; of 0 it is an infinity of the same sign.
    fn rsqrt(self) -> Self;

    /// Returns the hyperbolic tangent, within 4 ulp.
    fn tanh(self) -> Self;

    /// Returns 1 / (1 + exp(-x)), within 3 ulp.
    fn sigmoid(self) -> Self;

    /// Returns x / (1 + exp(-x)), within 4 ulp; of -inf the limit, -0.
    fn silu(self) -> Self;

    /// Returns x P(X < x), of a normally distributed `X`, within 6 ulp; of -inf the limit, -0.
    fn gelu(self) -> Self;

    /// Returns x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, within 6 ulp from -1 on, and a
    /// relative error of 3e-5 for `f32` below it; of -inf the limit, -0.
    fn gelu_tanh(self) -> Self;
}

macro_rules! functions {
    ($($ty:ident, $parts:ident;)*) => {$(
        impl Math for $ty {
            #[inline(always)]
            fn exp(self) -> Self {
                let x = if self < $parts::EXP_LOWEST { $parts::EXP_LOWEST } else { self };
                let x = if x > $parts::EXP_HIGHEST { $parts::EXP_HIGHEST } else { x };
                let (significand, scales) = $parts::exp_parts(x, None);
                significand * scales.0 * scales.1
            }

            #[inline(always)]
            fn exp_of_negative(self) -> Self {
                let is_lost = self < $parts::EXP_LOWEST_NORMAL;
                let x = if is_lost { $parts::EXP_LOWEST_NORMAL } else { self };
                let (n, exponent) = $parts::nearest(x);
                let r = (x - n * $parts::LN_2_HIGH) - n * $parts::LN_2_LOW;
                let power = ($parts::expm1(r) + 1.0) * $parts::scale(exponent);
                if is_lost { 0.0 } else { power }
            }

            #[inline(always)]
            fn log(self) -> Self {
                let (k, f) = $parts::split(self);
                // With s = f / (2 + f) it is 2 atanh(s), and 2 s = f - s f.
                let s = f / (2.0 + f);
                let half_square = 0.5 * f * f;
                let rest = s * (half_square + $parts::atanh(s * s)) + k * $parts::LN_2_LOW;
                let log = k * $parts::LN_2_HIGH + (f - (half_square - rest));
                let log = if self == 0.0 { $ty::NEG_INFINITY } else { log };
                let log = if self < 0.0 { $ty::NAN } else { log };
                // Infinity and NaN.
                if self < $ty::INFINITY { log } else { self }
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                $ty::sqrt(self)
            }

            #[inline(always)]
            fn rsqrt(self) -> Self {
                1.0 / $ty::sqrt(self)
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                // With y = exp(2 |x|) - 1 it is y / (y + 2).
                let twice = 2.0 * self.abs();
                let twice = if twice > $parts::TANH_HIGHEST { $parts::TANH_HIGHEST } else { twice };
                let (n, exponent) = $parts::nearest(twice);
                let r = (twice - n * $parts::LN_2_HIGH) - n * $parts::LN_2_LOW;
                let scale = $parts::scale(exponent);
                let y = scale * $parts::expm1(r) + (scale - 1.0);
                (y / (y + 2.0)).copysign(self)
            }

            #[inline(always)]
            fn sigmoid(self) -> Self {
                $parts::gated(1.0, self)
            }

            #[inline(always)]
            fn silu(self) -> Self {
                $parts::gated(self, self)
            }

            #[inline(always)]
            fn gelu(self) -> Self {
                // With the tail P(X < -|x|) it is max(x, 0) - |x| P(X < -|x|).
                let a = self.abs();
                let a = if a > $parts::TAIL_HIGHEST { $parts::TAIL_HIGHEST } else { a };
                // exp(-a^2 / 2), of the exact square.
                let high = $parts::high(a);
                let low = -0.5 * (a - high) * (a + high);
                let (significand, scales) = $parts::exp_parts(-0.5 * high * high, Some(low));
                let sum = a + $parts::TAIL_CENTER;
                let tail = $parts::tail((a - $parts::TAIL_CENTER) / sum);
                // Scaled last, so that nothing is lost of subnormal numbers.
                let product = a * (significand * tail / sum) * scales.0 * scales.1;
                let positive = if self < 0.0 { -0.0 } else { self };
                positive - product
            }

            #[inline(always)]
            fn gelu_tanh(self) -> Self {
                const TWICE_SQRT_2_OVER_PI: $ty = 1.595_769_121_605_730_7_f64 as $ty;
                let inner = self + 0.044715 * (self * self * self);
                $parts::gated(self, TWICE_SQRT_2_OVER_PI * inner)
            }
        }
    )*};
}

functions! {
    f32, single;
    f64, double;
}
