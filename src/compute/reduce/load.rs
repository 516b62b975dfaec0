//! [`Load`]: how elements in memory become those that a fold adds.

use crate::compute::simd::Simd;
use crate::dtype::Element;
use std::marker::PhantomData;

/// How elements in memory become those that a fold adds.
pub(super) trait Load {
    type Stored: Element;
    type Loaded: Copy;

    /// Whether rows of elements are loaded as such, and one after the other.
    const BY_ROWS: bool;

    fn load(x: Self::Stored) -> Self::Loaded;

    fn load_row<S: Simd, const L: usize>(row: &[Self::Stored; L]) -> [Self::Loaded; L];
}

/// Elements as they are.
pub(super) struct Plain<T>(PhantomData<fn(T)>);

impl<T: Element> Load for Plain<T> {
    type Stored = T;
    type Loaded = T;

    const BY_ROWS: bool = false;

    #[inline(always)]
    fn load(x: T) -> T {
        x
    }
    #[inline(always)]
    fn load_row<S: Simd, const L: usize>(row: &[T; L]) -> [T; L] {
        *row
    }
}

/// Elements of `f16` as `f32`, by the CPU's instructions where it has them.
#[cfg(feature = "ops")]
pub(super) struct HalfFloats;

#[cfg(feature = "ops")]
impl Load for HalfFloats {
    type Stored = half::f16;
    type Loaded = f32;

    const BY_ROWS: bool = true;

    #[inline(always)]
    fn load(x: half::f16) -> f32 {
        crate::dtype::f16_to_f32(x.to_bits())
    }

    #[inline(always)]
    fn load_row<S: Simd, const L: usize>(row: &[half::f16; L]) -> [f32; L] {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use crate::compute::simd::Level;
            use std::arch::x86_64::*;

            let mut loaded = [0.0; L];
            let (from, to) = (row.as_ptr(), loaded.as_mut_ptr());
            if S::LEVEL >= Level::Avx512 && L.is_multiple_of(16) {
                for at in (0..L).step_by(16) {
                    // SAFETY: both arrays have elements `at..at + 16`; the CPU has the level, as
                    // `S` is the one that is run.
                    unsafe {
                        let halves = _mm256_loadu_si256(from.add(at).cast());
                        _mm512_storeu_ps(to.add(at), _mm512_cvtph_ps(halves));
                    }
                }
                return loaded;
            }
            if S::LEVEL >= Level::Avx2 && L.is_multiple_of(8) {
                for at in (0..L).step_by(8) {
                    // SAFETY: both arrays have elements `at..at + 8`; the CPU has the level, as `S`
                    // is the one that is run.
                    unsafe {
                        let halves = _mm_loadu_si128(from.add(at).cast());
                        _mm256_storeu_ps(to.add(at), _mm256_cvtph_ps(halves));
                    }
                }
                return loaded;
            }
        }
        let mut loaded = [0.0; L];
        for at in 0..L {
            loaded[at] = Self::load(row[at]);
        }
        loaded
    }
}
