//! Loops between `f16` and `f32`, with the CPU's instructions where it has them.

use super::loops::{Arguments, Convert};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::compute::simd::{Level, Simd};
use crate::dtype::{f16_to_f32, f32_to_f16};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(super) struct F16ToF32;

impl Convert for F16ToF32 {
    type From = u16;
    type To = f32;

    #[inline(always)]
    fn new(_: &Arguments) -> Self {
        Self
    }

    #[inline(always)]
    fn convert(self, value: u16) -> f32 {
        f16_to_f32(value)
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    unsafe fn convert_vectors<S: Simd>(from: *const u16, to: *mut f32, count: usize) -> usize {
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
}

#[derive(Clone, Copy)]
pub(super) struct F32ToF16;

impl Convert for F32ToF16 {
    type From = f32;
    type To = u16;

    #[inline(always)]
    fn new(_: &Arguments) -> Self {
        Self
    }

    #[inline(always)]
    fn convert(self, value: f32) -> u16 {
        f32_to_f16(value)
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    unsafe fn convert_vectors<S: Simd>(from: *const f32, to: *mut u16, count: usize) -> usize {
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
}
