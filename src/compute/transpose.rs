//! Transposition of matrices in registers.

use std::ops::Range;

/// Writes the transpose of a matrix: `from` is contiguous along its second dimension, `to` along
/// its first one. Steps between lines are in bytes.
///
/// # Safety
///
/// The matrix can be read at `from`, and its transpose written at `to`; the two don't overlap. If
/// it streams, `to` and its step are multiples of 16.
pub(super) unsafe fn transpose<T: Copy, const STREAMS: bool>(
    (from, from_step): (*const u8, isize),
    (to, to_step): (*mut u8, isize),
    (lines, columns): (usize, usize),
) {
    let side = 16 / size_of::<T>();
    let (mut whole_lines, mut whole_columns) = (0, 0);
    if cfg!(all(target_arch = "x86_64", not(miri))) && (side > 1 || STREAMS) {
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
    // Lines of the target first, so that each cache line is written at once.
    for column in (0..whole_columns).step_by(side) {
        for line in (0..whole_lines).step_by(side) {
            let (from, to) = (source(line, column), target(line, column));
            // SAFETY: a square of `side` lines and columns lies within the matrix; `target` is a
            // multiple of 16 where it streams, as all steps are.
            unsafe {
                match side {
                    1 => square::<1, STREAMS>(from, from_step, to, to_step),
                    2 => square::<2, STREAMS>(from, from_step, to, to_step),
                    4 => square::<4, STREAMS>(from, from_step, to, to_step),
                    8 => square::<8, STREAMS>(from, from_step, to, to_step),
                    _ => square::<16, STREAMS>(from, from_step, to, to_step),
                }
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

/// Transposes a square of `SIDE` lines of 16 bytes each: every round interleaves the first half of
/// the lines with the second one, element by element.
///
/// # Safety
///
/// The lines can be read and written. If it streams, those of the target are multiples of 16.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn square<const SIDE: usize, const STREAMS: bool>(
    from: *const u8,
    from_step: isize,
    to: *mut u8,
    to_step: isize,
) {
    use std::arch::x86_64::*;

    // SAFETY: the lines can be read and written, at any alignment unless they are streamed; every
    // CPU of the architecture has SSE2.
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
            let to = to.offset(line as isize * to_step).cast();
            if STREAMS {
                _mm_stream_si128(to, value);
            } else {
                _mm_storeu_si128(to, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What streams has lines of whole 16 bytes.
    #[test]
    fn transpose_streams_elements_of_each_size() {
        fn check<T: Copy + PartialEq + std::fmt::Debug>(element: impl Fn(usize) -> T) {
            let (lines, columns) = (32, 21);
            let matrix: Vec<T> = (0..lines * columns).map(&element).collect();
            let mut memory = vec![0_u128; lines * columns];
            let step = |count: usize| (count * size_of::<T>()) as isize;
            let (from, to) = (matrix.as_ptr().cast(), memory.as_mut_ptr().cast());
            // SAFETY: both have room for the matrix, and the lines of the second one are
            // multiples of 16 bytes, as its address is.
            unsafe {
                transpose::<T, true>((from, step(columns)), (to, step(lines)), (lines, columns));
            }
            crate::compute::stream::fence();
            // SAFETY: `transpose` has written that many elements.
            let found =
                unsafe { std::slice::from_raw_parts(memory.as_ptr().cast::<T>(), lines * columns) };
            for (at, found) in found.iter().enumerate() {
                assert_eq!(*found, matrix[at % lines * columns + at / lines], "{at}");
            }
        }
        check(|at| at as u8);
        check(|at| at as u16);
        check(|at| at as u32);
        check(|at| at as u64);
        check(|at| at as u128);
    }

    fn check<T: Copy + PartialEq + std::fmt::Debug>(element: impl Fn(usize) -> T) {
        for (lines, columns) in [(0, 3), (1, 1), (16, 16), (7, 33), (32, 20), (19, 5)] {
            let matrix: Vec<T> = (0..lines * columns).map(&element).collect();
            let mut transposed = vec![element(0); lines * columns];
            let step = |count: usize| (count * size_of::<T>()) as isize;
            let (from, to) = (matrix.as_ptr().cast(), transposed.as_mut_ptr().cast());
            // SAFETY: both have room for the matrix.
            unsafe {
                transpose::<T, false>((from, step(columns)), (to, step(lines)), (lines, columns))
            };
            for line in 0..lines {
                for column in 0..columns {
                    let found = transposed[column * lines + line];
                    assert_eq!(
                        found,
                        matrix[line * columns + column],
                        "{lines} x {columns}"
                    );
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
