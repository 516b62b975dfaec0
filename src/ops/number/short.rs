//! Floats of 16 bits: conversions that can be vectorised, and sums rounded once.

use crate::dtype;
use half::{bf16, f16};

/// Returns `a * b + c` rounded once: the product is exact in f64, and the sum rounded to odd.
#[inline(always)]
pub(super) fn short_fma<T: Short>(a: T, b: T, c: T) -> T {
    let (product, c): (f64, f64) = (a.into() * b.into(), c.into());
    let sum = product + c;
    // What the sum lost, after Knuth's two-sum.
    let (from_product, from_c) = (sum - (sum - product), sum - product);
    let lost = (product - from_product) + (c - from_c);
    let is_even = sum.to_bits() & 1 == 0;
    if lost != 0.0 && is_even && sum.is_finite() {
        let is_towards_zero = (lost > 0.0) == (sum > 0.0);
        let bits = sum.to_bits();
        return T::round(f64::from_bits(if is_towards_zero {
            bits + 1
        } else {
            bits - 1
        }));
    }
    T::round(sum)
}

/// A float of 16 bits.
pub(super) trait Short: Into<f64> {
    /// Returns the nearest one, of a number that may have been rounded to odd.
    fn round(number: f64) -> Self;
}

/// Conversions without a branch or a call, so that loops can be vectorised.
macro_rules! short_floats {
    ($($ty:ident, $widen:ident as $to_f32:ident, $narrow:ident as $from_f32:ident, $round:ident;)*) => {$(
        #[inline(always)]
        pub(super) fn $widen(x: $ty) -> f32 {
            dtype::$to_f32(x.to_bits())
        }

        #[inline(always)]
        pub(super) fn $narrow(x: f32) -> $ty {
            $ty::from_bits(dtype::$from_f32(x))
        }

        /// Rounds once: what the conversion to `f32` loses leaves its last bit set.
        #[inline(always)]
        pub(super) fn $round(x: f64) -> $ty {
            $narrow(dtype::round_to_odd(x))
        }

        impl Short for $ty {
            #[inline(always)]
            fn round(number: f64) -> Self {
                $round(number)
            }
        }
    )*};
}

short_floats! {
    f16, widen_f16 as f16_to_f32, narrow_f16 as f32_to_f16, round_f16;
    bf16, widen_bf16 as bf16_to_f32, narrow_bf16 as f32_to_bf16, round_bf16;
}
