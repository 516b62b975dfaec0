//! How far a number may be from an oracle's.

use crate::dtype::{DType, Scalar, TypeCode};
use std::fmt;

/// How far a result may be from an oracle's. NaN is as good as any other NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    ulp: u64,
    absolute: f64,
    relative: f64,
}

impl Tolerance {
    /// Equal results, bit for bit.
    pub const EXACT: Self = Self::ulp(0);

    /// Creates a tolerance of `ulp` units in the last place: 1 allows the next number of the type,
    /// up or down. It is for integers and for floats of at least 16 bits.
    pub const fn ulp(ulp: u64) -> Self {
        Self {
            ulp,
            absolute: 0.0,
            relative: 0.0,
        }
    }

    /// Creates a tolerance of `absolute + relative * |expected|`.
    pub const fn close(absolute: f64, relative: f64) -> Self {
        Self {
            ulp: 0,
            absolute,
            relative,
        }
    }

    /// Returns whether an element, as bytes, is near enough to the expected one.
    pub(super) fn allows(self, dtype: DType, found: &[u8], expected: &[u8]) -> bool {
        // Most are equal.
        found == expected
            || (lanes(dtype, found).zip(lanes(dtype, expected))).all(|(found, expected)| {
                found == expected || self.allows_lane(dtype, found, expected)
            })
    }

    fn allows_lane(self, dtype: DType, found: &[u8], expected: &[u8]) -> bool {
        let is_near = |found: f64, expected: f64| {
            let allowed = self.absolute + self.relative * expected.abs();
            // Zeros of different signs are near, but not equal.
            let is_close = self != Self::EXACT
                && (found - expected).abs() <= allowed
                && found.is_finite()
                && expected.is_finite();
            let is_same = found.to_bits() == expected.to_bits();
            is_close || is_same || found.is_nan() && expected.is_nan()
        };
        let is_within = || {
            let [found, expected] = [found, expected].map(|bytes| place(dtype, bytes));
            let steps = found.zip(expected).map(|(x, y)| x.abs_diff(y));
            self.ulp > 0 && steps.is_some_and(|steps| steps <= self.ulp)
        };
        match [found, expected].map(|bytes| Scalar::read(dtype, bytes, 0)) {
            [Scalar::Float(x), Scalar::Float(y)] => {
                is_near(x, y) || x.is_finite() && y.is_finite() && is_within()
            }
            [Scalar::Complex(x, i), Scalar::Complex(y, j)] => is_near(x, y) && is_near(i, j),
            [Scalar::Int(x), Scalar::Int(y)] => {
                let (distance, size) = (x.abs_diff(y), (y as f64).abs());
                distance <= u128::from(self.ulp)
                    || distance as f64 <= self.absolute + self.relative * size
            }
            _ => false,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self {
                ulp: 0,
                absolute,
                relative,
            } if *absolute == 0.0 && *relative == 0.0 => f.write_str("exactly"),
            Self {
                ulp: 0,
                absolute,
                relative,
            } => {
                write!(f, "within {absolute:e} + {relative:e} * |expected|")
            }
            Self { ulp, .. } => write!(f, "within {ulp} ulp"),
        }
    }
}

/// Returns the lanes of an element.
fn lanes(dtype: DType, element: &[u8]) -> impl Iterator<Item = &[u8]> {
    element.chunks_exact((usize::from(dtype.bits()) / 8).max(1))
}

/// Returns the place of a float among all of its type, in order; both zeros have the same.
fn place(dtype: DType, bytes: &[u8]) -> Option<i64> {
    let bits = match (dtype.code(), bytes.len()) {
        (TypeCode::Float | TypeCode::BFloat, 2) => {
            u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)) << 48
        }
        (TypeCode::Float, 4) => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)) << 32,
        (TypeCode::Float, 8) => u64::from_ne_bytes(bytes.try_into().ok()?),
        _ => return None,
    };
    let size = (bits << 1 >> 1) as i64;
    let size = size >> (64 - 8 * bytes.len());
    Some(if bits >> 63 == 1 { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn f32s(tolerance: Tolerance, found: f32, expected: f32) -> bool {
        tolerance.allows(DType::F32, &found.to_ne_bytes(), &expected.to_ne_bytes())
    }

    #[test]
    fn exact_accepts_equal_bits_and_nan_only() {
        let exact = Tolerance::EXACT;
        assert!(f32s(exact, 1.5, 1.5) && f32s(exact, f32::NAN, -f32::NAN));
        assert!(!f32s(exact, 1.0, 1.0_f32.next_up()) && !f32s(exact, f32::NAN, 1.0));
        assert!(!f32s(exact, 1.0, f32::NAN) && !f32s(exact, f32::INFINITY, f32::MAX));
        assert!(!f32s(exact, 0.0, -0.0));
        let large = [1_i64 << 60, (1 << 60) + 1].map(i64::to_ne_bytes);
        assert!(!exact.allows(DType::I64, &large[0], &large[1]));
    }

    #[test]
    fn ulp_counts_numbers_across_zero() {
        let one = Tolerance::ulp(1);
        assert!(f32s(one, 1.0, 1.0_f32.next_up()) && f32s(one, 0.0, -0.0));
        assert!(!f32s(one, 1.0, 1.0_f32.next_up().next_up()));
        let least = f32::from_bits(1);
        assert!(f32s(one, 0.0, -least) && !f32s(one, least, -least));
        assert!(f32s(Tolerance::ulp(2), least, -least));
        assert!(!f32s(one, f32::INFINITY, f32::MAX) && !f32s(one, f32::NAN, f32::INFINITY));
        let [x, y] = [f16::ONE, f16::from_bits(f16::ONE.to_bits() + 1)].map(f16::to_ne_bytes);
        assert!(one.allows(DType::F16, &x, &y) && !Tolerance::EXACT.allows(DType::F16, &x, &y));
    }

    #[test]
    fn close_adds_both_tolerances() {
        let close = Tolerance::close(0.5, 0.01);
        assert!(f32s(close, 101.4, 100.0) && !f32s(close, 101.6, 100.0));
        assert!(f32s(close, 0.0, -0.0) && !f32s(close, f32::NAN, 0.0));
        assert!(!f32s(close, f32::INFINITY, f32::NEG_INFINITY));
        let ints = [104_i64, 102].map(i64::to_ne_bytes);
        assert!(!close.allows(DType::I64, &ints[0], &ints[1]));
        assert!(Tolerance::ulp(2).allows(DType::I64, &ints[0], &ints[1]));
    }
}
