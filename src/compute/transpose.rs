//! Transposition of matrices in registers.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::stream::prefetch;
use std::ops::Range;

/// Writes the transpose of a matrix: `from` is contiguous along its second dimension, `to` along
/// its first one. Steps between lines are in bytes.
///
/// Either each cache line of the target is written at once, or each of the source read at once: for
/// a large matrix of which this is a part, and the next lines of which are requested meanwhile.
///
/// # Safety
///
/// The matrix can be read at `from`, and its transpose written at `to`; the two don't overlap.
pub(super) unsafe fn transpose<T: Copy, const BY_SOURCE: bool>(
    (from, from_step): (*const u8, isize),
    (to, to_step): (*mut u8, isize),
    (lines, columns): (usize, usize),
) {
    let side = 16 / size_of::<T>();
    let (mut whole_lines, mut whole_columns) = (0, 0);
    if cfg!(all(target_arch = "x86_64", not(miri))) && (side > 1 || BY_SOURCE) {
        (whole_lines, whole_columns) = (lines / side * side, columns / side * side);
    }
    let source = |line: usize, column: usize| {
        from.wrapping_offset(line as isize * from_step)
            .wrapping_add(column * size_of::<T>())
    };
    let target = |line: usize, column: usize| {
        to.wrapping_offset(column as isize * to_step)
            .wrapping_add(line * size_of::<T>())
    };
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let transpose_square = |line: usize, column: usize| {
            let (from, to) = (source(line, column), target(line, column));
            // SAFETY: a square of `side` lines and columns lies within the matrix.
            unsafe {
                match side {
                    1 => square::<1>(from, from_step, to, to_step),
                    2 => square::<2>(from, from_step, to, to_step),
                    4 => square::<4>(from, from_step, to, to_step),
                    8 => square::<8>(from, from_step, to, to_step),
                    _ => square::<16>(from, from_step, to, to_step),
                }
            }
        };
        if BY_SOURCE {
            let cache_line = 64 / size_of::<T>();
            for line in (0..whole_lines).step_by(side) {
                for first in (0..whole_columns).step_by(cache_line) {
                    (line + AHEAD..line + AHEAD + side)
                        .for_each(|line| prefetch(source(line, first), 1));
                    let end = whole_columns.min(first + cache_line);
                    (first..end)
                        .step_by(side)
                        .for_each(|column| transpose_square(line, column));
                }
            }
        } else {
            for column in (0..whole_columns).step_by(side) {
                (0..whole_lines)
                    .step_by(side)
                    .for_each(|line| transpose_square(line, column));
            }
        }
    }
    // What is left: some columns of all lines, and some lines of the other columns.
    let copy = |lines: Range<usize>, column: usize| {
        for line in lines {
            // SAFETY: it is an element of the matrix.
            unsafe {
                let value = source(line, column).cast::<T>().read_unaligned();
                target(line, column).cast::<T>().write_unaligned(value);
            }
        }
    };
    (whole_columns..columns).for_each(|column| copy(0..lines, column));
    (0..whole_columns).for_each(|column| copy(whole_lines..lines, column));
}

/// How many lines ahead the source is requested.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const AHEAD: usize = 16;

/// Transposes a square of `SIDE` lines of 16 bytes each: every round interleaves the first half of
/// the lines with the second one, element by element.
///
/// # Safety
///
/// The lines can be read and written.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn square<const SIDE: usize>(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: isize,
) {
    use std::arch::x86_64::*;

    // SAFETY: the lines can be read and written, at any alignment; every CPU of the architecture
    // has SSE2.
    unsafe {
        let mut lines: [__m128i; SIDE] = std::array::from_fn(|line| {
            _mm_loadu_si128(from.offset(line as isize * from_step).cast())
        });
        let mut rounds = SIDE;
        while rounds > 1 {
            rounds /= 2;
            let before = lines;
            for at in 0..SIDE / 2 {
                let (a, b) = (before[at], before[at + SIDE / 2]);
                let (low, high) = match SIDE {
                    2 => (_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)),
                    4 => (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)),
                    8 => (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)),
                    _ => (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)),
                };
                lines[2 * at] = low;
                lines[2 * at + 1] = high;
            }
        }
        for (line, value) in lines.into_iter().enumerate() {
            _mm_storeu_si128(to.offset(line as isize * to_step).cast(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Copy + PartialEq + std::fmt::Debug>(element: impl Fn(usize) -> T) {
        for (lines, columns) in [
            (0, 3),
            (1, 1),
            (16, 16),
            (7, 33),
            (32, 20),
            (19, 5),
            (40, 90),
        ] {
            let matrix: Vec<T> = (0..lines * columns).map(&element).collect();
            let step = |count: usize| (count * size_of::<T>()) as isize;
            for by_source in [false, true] {
                let mut transposed = vec![element(0); lines * columns];
                let from = (matrix.as_ptr().cast(), step(columns));
                let to = (transposed.as_mut_ptr().cast(), step(lines));
                // SAFETY: both have room for the matrix.
                unsafe {
                    match by_source {
                        false => transpose::<T, false>(from, to, (lines, columns)),
                        true => transpose::<T, true>(from, to, (lines, columns)),
                    }
                }
                for (at, found) in transposed.iter().enumerate() {
                    let expected = matrix[at % lines * columns + at / lines];
                    assert_eq!(*found, expected, "{lines} x {columns}, {by_source}");
                }
            }
        }
    }

    #[test]
    fn transpose_moves_elements_of_each_size() {
        check(|at| at as u8);
        check(|at| at as u16);
        check(|at| at as u32);
        check(|at| at as u64);
        check(|at| at as u128);
    }
}
