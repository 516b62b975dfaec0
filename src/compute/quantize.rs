//! Loops of affine quantisation over contiguous elements.

use super::simd::{Routine, Simd, dispatch};
use std::mem::MaybeUninit;

/// The least and the largest number of a quantised dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) least: i32,
    pub(crate) most: i32,
}

/// Elements that follow each other and share a scale and a zero point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    pub(crate) len: usize,
    pub(crate) scale: f32,
    pub(crate) zero_point: i32,
}

/// Scales of elements.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scales<'a> {
    /// Of runs that together are all elements.
    Runs(&'a [Run]),
    /// Of each element the scale and the zero point.
    Each(&'a [f32], &'a [i32]),
}

/// Quantises: `saturate(round(x * inverse) + zero_point)`, halves to the even integer, with the
/// inverses of the scales. NaN becomes the zero point. Results are bytes, of two's complement.
///
/// # Panics
///
/// When the lengths differ, or runs are longer than the elements.
pub(crate) fn quantize(x: &[f32], inverses: Scales<'_>, ends: Ends, out: &mut [MaybeUninit<u8>]) {
    assert_eq!(x.len(), out.len());
    dispatch(Quantize {
        x,
        inverses,
        ends,
        out,
    });
}

/// Dequantises bytes: `(q - zero_point) * scale`.
///
/// # Panics
///
/// When the lengths differ, or runs are longer than the elements.
pub(crate) fn dequantize(
    q: &[u8],
    is_signed: bool,
    scales: Scales<'_>,
    out: &mut [MaybeUninit<f32>],
) {
    assert_eq!(q.len(), out.len());
    match is_signed {
        true => dispatch(Dequantize::<true> { q, scales, out }),
        false => dispatch(Dequantize::<false> { q, scales, out }),
    }
}

/// Added to a number of up to `2**22`, it leaves the nearest integer in the lowest bits, of two
/// that are as near the even one.
const ROUND: f32 = 12_582_912.0;

/// Returns a quantised number. Bits above the byte don't matter.
#[inline(always)]
fn quantized(x: f32, inverse: f32, zero_point: i32, ends: Ends) -> u8 {
    let scaled = x * inverse;
    let scaled = if scaled.is_nan() { 0.0 } else { scaled };
    // Before rounding, which keeps integers: the result is within the ends.
    let (least, most) = (
        (ends.least - zero_point) as f32,
        (ends.most - zero_point) as f32,
    );
    let scaled = if scaled < least { least } else { scaled };
    let scaled = if scaled > most { most } else { scaled };
    // The lowest byte of `ROUND` is 0.
    ((scaled + ROUND).to_bits() as i32 + zero_point) as u8
}

struct Quantize<'a> {
    x: &'a [f32],
    inverses: Scales<'a>,
    ends: Ends,
    out: &'a mut [MaybeUninit<u8>],
}

impl Routine for Quantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self {
            mut x,
            inverses,
            ends,
            mut out,
        } = self;
        match inverses {
            Scales::Runs(runs) => {
                for run in runs {
                    let (own, to);
                    (own, x) = x.split_at(run.len);
                    (to, out) = out.split_at_mut(run.len);
                    for (out, x) in to.iter_mut().zip(own) {
                        out.write(quantized(*x, run.scale, run.zero_point, ends));
                    }
                }
            }
            Scales::Each(inverses, zero_points) => {
                let pairs = out.iter_mut().zip(x);
                for ((out, x), (inverse, zero_point)) in pairs.zip(inverses.iter().zip(zero_points))
                {
                    out.write(quantized(*x, *inverse, *zero_point, ends));
                }
            }
        }
    }
}

struct Dequantize<'a, const SIGNED: bool> {
    q: &'a [u8],
    scales: Scales<'a>,
    out: &'a mut [MaybeUninit<f32>],
}

/// Returns a dequantised number.
#[inline(always)]
fn dequantized<const SIGNED: bool>(q: u8, scale: f32, zero_point: i32) -> f32 {
    let q = if SIGNED {
        i32::from(q as i8)
    } else {
        i32::from(q)
    };
    (q - zero_point) as f32 * scale
}

impl<const SIGNED: bool> Routine for Dequantize<'_, SIGNED> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self {
            mut q,
            scales,
            mut out,
        } = self;
        match scales {
            Scales::Runs(runs) => {
                for run in runs {
                    let (own, to);
                    (own, q) = q.split_at(run.len);
                    (to, out) = out.split_at_mut(run.len);
                    for (out, q) in to.iter_mut().zip(own) {
                        out.write(dequantized::<SIGNED>(*q, run.scale, run.zero_point));
                    }
                }
            }
            Scales::Each(scales, zero_points) => {
                let pairs = out.iter_mut().zip(q);
                for ((out, q), (scale, zero_point)) in pairs.zip(scales.iter().zip(zero_points)) {
                    out.write(dequantized::<SIGNED>(*q, *scale, *zero_point));
                }
            }
        }
    }
}
