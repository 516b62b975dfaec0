//! Conversions of wider floats to `bf16`, in vectors of AVX2.

use super::shorten::LOST;
use crate::compute::simd::{Level, Simd};
use std::arch::x86_64::*;

/// Converts the first elements, and returns how many it was. With AVX-512 the compiler's own loop
/// has vectors of twice the size.
///
/// # Safety
///
/// `from` is valid for reads of `count` elements, and `to` for writes of as many, neither need be
/// aligned; they don't overlap. The CPU has the level.
#[inline(always)]
pub(super) unsafe fn f32_to_bf16_vectors<S: Simd>(
    from: *const f32,
    to: *mut u16,
    count: usize,
) -> usize {
    let mut at = 0;
    // SAFETY: elements below `count`, for which the caller promises it; the CPU has the
    // instructions, as it has the level.
    unsafe {
        if S::LEVEL == Level::Avx2 {
            while at + 16 <= count {
                let a = _mm256_loadu_si256(from.add(at).cast());
                let b = _mm256_loadu_si256(from.add(at + 8).cast());
                _mm256_storeu_si256(to.add(at).cast(), nearest_bf16(a, b));
                at += 16;
            }
        }
    }
    at
}

/// Converts the first elements, and returns how many it was.
///
/// They are rounded to `f32` first: that is right unless it leads to the middle between two
/// `bf16`s, which few numbers do. Those are shortened.
///
/// # Safety
///
/// `from` is valid for reads of `count` elements, and `to` for writes of as many, neither need be
/// aligned; they don't overlap. The CPU has the level.
#[inline(always)]
pub(super) unsafe fn f64_to_bf16_vectors<S: Simd>(
    from: *const f64,
    to: *mut u16,
    count: usize,
) -> usize {
    let mut at = 0;
    // SAFETY: elements below `count`, for which the caller promises it; the CPU has the
    // instructions, as it has the level.
    unsafe {
        if S::LEVEL >= Level::Avx2 {
            while at + 16 <= count {
                let from = from.add(at);
                let (a, b) = (_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4)));
                let (c, d) = (_mm256_loadu_pd(from.add(8)), _mm256_loadu_pd(from.add(12)));
                let (mut low, mut high) = (nearest_f32(a, b), nearest_f32(c, d));
                let are_middle = _mm256_or_si256(is_middle(low), is_middle(high));
                if _mm256_testz_si256(are_middle, are_middle) == 0 {
                    low = nearest_f32(shortened(a), shortened(b));
                    high = nearest_f32(shortened(c), shortened(d));
                }
                _mm256_storeu_si256(to.add(at).cast(), nearest_bf16(low, high));
                at += 16;
            }
        }
    }
    at
}

// No closures below: they aren't compiled for the level of the function that calls them.

/// Returns the bits of the nearest `f32`s.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn nearest_f32(low: __m256d, high: __m256d) -> __m256i {
    // SAFETY: the CPU has AVX2, as the caller promises.
    unsafe {
        let floats = _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
        _mm256_castps_si256(floats)
    }
}

/// Returns which `f32`s of these bits are in the middle between two `bf16`s.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn is_middle(bits: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, as the caller promises.
    unsafe { _mm256_cmpeq_epi32(_mm256_slli_epi32::<16>(bits), _mm256_set1_epi32(i32::MIN)) }
}

/// Returns what `f32_to_bf16` does of each of these bits.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn nearest_bf16(low: __m256i, high: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, as the caller promises.
    unsafe {
        let (mut a, mut b) = (nearest_of_numbers(low), nearest_of_numbers(high));
        let (low_floats, high_floats) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
        if _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(low_floats, high_floats)) != 0 {
            a = with_nan(low, a);
            b = with_nan(high, b);
        }
        // By quarters, of which two come from each.
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(a, b))
    }
}

/// Returns what `f32_to_bf16` does of each of these bits, but for NaN.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn nearest_of_numbers(bits: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, as the caller promises.
    unsafe {
        let is_odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let half = _mm256_add_epi32(is_odd, _mm256_set1_epi32(0x7fff));
        _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, half))
    }
}

/// Returns what is nearest to these bits, and NaN for NaN.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn with_nan(bits: __m256i, nearest: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, as the caller promises.
    unsafe {
        let sign = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(0x8000));
        let nan = _mm256_or_si256(sign, _mm256_set1_epi32(0x7fc0));
        let floats = _mm256_castsi256_ps(bits);
        let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(floats, floats);
        _mm256_blendv_epi8(nearest, nan, _mm256_castps_si256(is_nan))
    }
}

/// Returns what [`shorten`](super::shorten::shorten) does of each of four numbers.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn shortened(numbers: __m256d) -> __m256d {
    // SAFETY: the CPU has AVX2, as the caller promises.
    unsafe {
        let bits = _mm256_castpd_si256(numbers);
        let lost = _mm256_set1_epi64x(LOST.cast_signed());
        let none = _mm256_cmpeq_epi64(_mm256_and_si256(bits, lost), _mm256_setzero_si256());
        let last = _mm256_andnot_si256(none, _mm256_set1_epi64x(LOST.cast_signed() + 1));
        _mm256_castsi256_pd(_mm256_or_si256(_mm256_andnot_si256(lost, bits), last))
    }
}

#[cfg(test)]
mod tests {
    use crate::compute::Converter;
    use crate::compute::simd::{Level, with_level};
    use crate::dtype::{DType, bf16_to_f32, f32_to_bf16, round_to_odd};

    /// All `bf16`s, the middle between each and the next, and the numbers beside those.
    fn numbers() -> Vec<f64> {
        let patterns = 0..=u16::MAX;
        let around = patterns.flat_map(|bits| {
            let [one, next] = [bits, bits.wrapping_add(1)].map(|bits| f64::from(bf16_to_f32(bits)));
            let middle = (one + next) / 2.0;
            [one, middle, middle.next_up(), middle.next_down()]
        });
        // Between the largest one and what would follow it.
        let largest_middle = f64::from(bf16_to_f32(0x7f7f)) + (2.0_f64).powi(119);
        let others = [
            f64::from_bits(0x7ff0_0000_0000_0001),
            -f64::from_bits(0x7ff0_0000_0000_0001),
            largest_middle,
            largest_middle.next_down(),
            f64::MAX,
            f64::MIN_POSITIVE,
            -f64::from_bits(1),
        ];
        others.into_iter().chain(around).collect()
    }

    #[test]
    fn f64_is_rounded_to_bf16_once() {
        check(DType::F64, &numbers(), |x| f32_to_bf16(round_to_odd(x)));
    }

    #[test]
    fn vectors_of_f32_are_rounded_to_bf16_as_single_numbers() {
        let numbers: Vec<_> = numbers().into_iter().map(|x| x as f32).collect();
        let around = numbers
            .iter()
            .flat_map(|x| [x.next_down(), *x, x.next_up()]);
        check(DType::F32, &around.collect::<Vec<_>>(), f32_to_bf16);
    }

    fn check<T: Copy>(from: DType, numbers: &[T], nearest: fn(T) -> u16) {
        let expected: Vec<_> = numbers.iter().map(|x| nearest(*x)).collect();
        let converter = Converter::new(from, DType::BF16, false).unwrap();
        for level in Level::loops() {
            for count in [numbers.len(), 33, 16, 15] {
                let mut found = vec![0_u16; count];
                // SAFETY: both have `count` elements.
                with_level(level, || unsafe {
                    converter.run(numbers.as_ptr().cast(), found.as_mut_ptr().cast(), count);
                });
                assert_eq!(found, expected[..count], "{level}");
            }
        }
    }
}
