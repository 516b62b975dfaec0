//! Conversions between `f16` and `f32` by the CPU's instructions.

use crate::compute::simd::{Level, Simd};
use std::arch::x86_64::*;

/// Converts the first elements, and returns how many it was.
///
/// # Safety
///
/// `from` is valid for reads of `count` elements, and `to` for writes of as many, neither need be
/// aligned; they don't overlap. The CPU has the level.
#[inline(always)]
pub(super) unsafe fn f16_to_f32_vectors<S: Simd>(
    from: *const u16,
    to: *mut f32,
    count: usize,
) -> usize {
    let mut at = 0;
    // SAFETY: elements below `count`, for which the caller promises it; the CPU has the
    // instructions, as it has the level.
    unsafe {
        if S::LEVEL >= Level::Avx512 {
            while at + 16 <= count {
                let halves = _mm256_loadu_si256(from.add(at).cast());
                _mm512_storeu_ps(to.add(at), _mm512_cvtph_ps(halves));
                at += 16;
            }
        }
        if S::LEVEL >= Level::Avx2 {
            while at + 8 <= count {
                let halves = _mm_loadu_si128(from.add(at).cast());
                _mm256_storeu_ps(to.add(at), _mm256_cvtph_ps(halves));
                at += 8;
            }
        }
    }
    at
}

/// Converts the first elements, and returns how many it was.
///
/// # Safety
///
/// `from` is valid for reads of `count` elements, and `to` for writes of as many, neither need be
/// aligned; they don't overlap. The CPU has the level.
#[inline(always)]
pub(super) unsafe fn f32_to_f16_vectors<S: Simd>(
    from: *const f32,
    to: *mut u16,
    count: usize,
) -> usize {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT;
    let mut at = 0;
    // SAFETY: elements below `count`, for which the caller promises it; the CPU has the
    // instructions, as it has the level.
    unsafe {
        if S::LEVEL >= Level::Avx512 {
            while at + 16 <= count {
                let floats = _mm512_loadu_ps(from.add(at));
                _mm256_storeu_si256(to.add(at).cast(), _mm512_cvtps_ph::<NEAREST>(floats));
                at += 16;
            }
        }
        if S::LEVEL >= Level::Avx2 {
            while at + 8 <= count {
                let floats = _mm256_loadu_ps(from.add(at));
                _mm_storeu_si128(to.add(at).cast(), _mm256_cvtps_ph::<NEAREST>(floats));
                at += 8;
            }
        }
    }
    at
}
