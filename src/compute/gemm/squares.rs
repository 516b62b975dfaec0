//! Packing of lanes that lie apart: squares of units are transposed.

use super::element::{Unit, unit};
use super::operands::Strided;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::compute::Level;
use crate::compute::Simd;

/// Steps whose units are transposed together.
pub(super) const STEPS: usize = 16;

/// Packs lanes that lie apart, in squares that are transposed.
#[inline(always)]
pub(super) unsafe fn transposed<
    S: Simd,
    U: Unit<T>,
    T: Copy + Default,
    const LANES: usize,
    const ROWS: bool,
>(
    from: Strided<T>,
    lanes: usize,
    depth: usize,
    width: usize,
    to: *mut U,
) {
    let units = depth.div_ceil(U::GROUP);
    for begin in (0..width).step_by(LANES) {
        let mut square = [[U::default(); STEPS]; LANES];
        for step in (0..units).step_by(STEPS) {
            let first = step * U::GROUP;
            let is_whole = first + STEPS * U::GROUP <= depth;
            for (lane, row) in square
                .iter_mut()
                .enumerate()
                .take(lanes.saturating_sub(begin))
            {
                // SAFETY: the contract of `Pack::rows`: elements below `lanes` and `depth` are
                // there.
                unsafe {
                    let lane = from.first.offset((begin + lane) as isize * from.outer);
                    let lane = lane.offset(first as isize * from.inner);
                    if is_whole && from.inner == 1 {
                        for (at, to) in row.iter_mut().enumerate() {
                            *to = unit::<U, T, ROWS>(|next| *lane.add(at * U::GROUP + next));
                        }
                    } else {
                        for (at, to) in row.iter_mut().enumerate() {
                            let element = |next: usize| {
                                let at = at * U::GROUP + next;
                                match first + at < depth {
                                    true => *lane.offset(at as isize * from.inner),
                                    false => T::default(),
                                }
                            };
                            *to = unit::<U, T, ROWS>(element);
                        }
                    }
                }
            }
            let steps = STEPS.min(units - step);
            // SAFETY: there is room for `width` units at each step, by the contract of
            // `Pack::rows`.
            unsafe {
                store_transposed::<S, U, LANES>(&square, to.add(step * width + begin), steps, width)
            };
        }
    }
}

/// Stores the columns of a square, as many as there are steps.
#[inline(always)]
unsafe fn store_transposed<S: Simd, U: Copy, const LANES: usize>(
    square: &[[U; STEPS]; LANES],
    to: *mut U,
    steps: usize,
    width: usize,
) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if S::LEVEL == Level::Avx512 && LANES == 16 && size_of::<U>() == 4 && steps == STEPS {
        // SAFETY: the square is 16 by 16 elements of 4 bytes, as just checked; this is compiled for
        // the level, on which the CPU was found to run it.
        return unsafe { transpose_avx512(square.as_ptr().cast(), to.cast(), width) };
    }
    for step in 0..steps {
        for (lane, row) in square.iter().enumerate() {
            // SAFETY: the same as the caller's.
            unsafe { to.add(step * width + lane).write(row[step]) };
        }
    }
}

/// Stores the columns of 16 rows of 16 elements of 4 bytes.
///
/// # Safety
///
/// The CPU has the level, the square can be read, and its columns be stored, each `width` elements
/// behind the one before.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn transpose_avx512(square: *const i32, to: *mut i32, width: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the function's contract.
    unsafe {
        let mut rows = [_mm512_setzero_si512(); 16];
        for (at, row) in rows.iter_mut().enumerate() {
            *row = _mm512_loadu_si512(square.add(16 * at).cast());
        }
        let mut pairs = rows;
        for at in 0..8 {
            pairs[2 * at] = _mm512_unpacklo_epi32(rows[2 * at], rows[2 * at + 1]);
            pairs[2 * at + 1] = _mm512_unpackhi_epi32(rows[2 * at], rows[2 * at + 1]);
        }
        // Four rows each: column `4 * block + at` of these is in the 16 bytes `block` of `fours`.
        let mut fours = pairs;
        for at in 0..4 {
            for half in 0..2 {
                let (low, high) = (pairs[4 * at + half], pairs[4 * at + 2 + half]);
                fours[4 * at + 2 * half] = _mm512_unpacklo_epi64(low, high);
                fours[4 * at + 2 * half + 1] = _mm512_unpackhi_epi64(low, high);
            }
        }
        for column in 0..4 {
            let [a, b, c, d] = [0, 4, 8, 12].map(|first| fours[first + column]);
            let (ab_even, ab_odd) = (
                _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b),
            );
            let (cd_even, cd_odd) = (
                _mm512_shuffle_i32x4::<0b10_00_10_00>(c, d),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(c, d),
            );
            let columns = [
                _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_even, cd_even),
                _mm512_shuffle_i32x4::<0b10_00_10_00>(ab_odd, cd_odd),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_even, cd_even),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(ab_odd, cd_odd),
            ];
            for (block, values) in columns.into_iter().enumerate() {
                let to = to.add((4 * block + column) * width);
                _mm512_storeu_si512(to.cast(), values);
            }
        }
    }
}
