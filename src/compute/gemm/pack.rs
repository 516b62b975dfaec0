//! Packing: panels of a matrix in the order in which micro-kernels read them.

use super::element::Unit;
use super::operands::Strided;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::compute::Level;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
use crate::compute::dispatch;
use crate::compute::{Routine, Simd};

/// Steps whose units are transposed together.
const STEPS: usize = 16;

/// Part of a matrix, to be packed as panels: for each panel and each step a unit for each lane.
///
/// Lanes are rows of `a`, or columns of `b`.
pub(super) struct Pack<U, T> {
    /// Strides of lanes, and of the dimension that is summed over.
    pub(super) from: Strided<T>,
    /// How many lanes each panel has; the other ones of a panel get units of zeros.
    pub(super) panels: Panels,
    /// Elements of each lane.
    pub(super) depth: usize,
    /// Units of each step in a panel.
    pub(super) width: usize,
    pub(super) to: *mut U,
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
impl<U, T: Copy + Default> Pack<U, T> {
    /// Packs lanes as smaller units that are as many bytes in all, and zeros after the last.
    ///
    /// # Safety
    ///
    /// As for [`Packing::new`].
    pub(super) unsafe fn run_as_smaller<V: Unit<T>>(self)
    where
        U: Unit<T>,
    {
        let (units, room) = (
            self.depth.div_ceil(V::GROUP),
            self.depth.div_ceil(U::GROUP) * (U::GROUP / V::GROUP),
        );
        for panel in 0..self.panels.count {
            let (begin, lanes) = self.panels.get(panel);
            // SAFETY: the elements of all lanes are there, and room for all panels, each of as many
            // bytes in these units as in those of `U`.
            unsafe {
                let to = self.to.cast::<V>().add(panel * room * self.width);
                let packed = Pack {
                    from: Strided {
                        first: self.from.first.offset(begin as isize * self.from.outer),
                        ..self.from
                    },
                    panels: Panels::full(lanes, self.width),
                    depth: self.depth,
                    width: self.width,
                    to,
                };
                dispatch(Packing::<V, T, false>::new(packed));
                let rest = to.add(units * self.width);
                rest.write_bytes(0, (room - units) * self.width);
            }
        }
    }
}

/// A division of lanes into panels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panels {
    lanes: usize,
    size: usize,
    /// How many panels have a lane more.
    larger: usize,
    pub(super) count: usize,
}

impl Panels {
    /// Divides lanes into panels of equal sizes, or of one less.
    pub(super) fn even(lanes: usize, most: usize) -> Self {
        let count = lanes.div_ceil(most).max(1);
        Self {
            lanes,
            size: lanes / count,
            larger: lanes % count,
            count,
        }
    }

    /// Divides lanes into panels of this size, of which the last may be smaller.
    pub(super) fn full(lanes: usize, size: usize) -> Self {
        Self {
            lanes,
            size,
            larger: 0,
            count: lanes.div_ceil(size),
        }
    }

    /// Returns the first lane of a panel and the number of lanes.
    #[inline(always)]
    pub(super) fn get(&self, panel: usize) -> (usize, usize) {
        let begin = panel * self.size + panel.min(self.larger);
        let size = self.size + usize::from(panel < self.larger);
        (begin, size.min(self.lanes - begin))
    }
}

/// Packing of rows of the first factor, or of columns of the second one, as a routine.
pub(super) struct Packing<U, T, const ROWS: bool>(Pack<U, T>);

impl<U: Unit<T>, T: Copy + Default, const ROWS: bool> Packing<U, T, ROWS> {
    /// # Safety
    ///
    /// The part of the matrix can be read, and there is room for the units of all panels.
    pub(super) unsafe fn new(pack: Pack<U, T>) -> Self {
        Self(pack)
    }
}

impl<U: Unit<T>, T: Copy + Default, const ROWS: bool> Routine for Packing<U, T, ROWS> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Pack {
            from,
            panels,
            depth,
            width,
            to,
        } = self.0;
        let units = depth.div_ceil(U::GROUP);
        for panel in 0..panels.count {
            let (begin, lanes) = panels.get(panel);
            // SAFETY: `new`'s caller has the elements of all lanes, and room for all panels.
            unsafe {
                let from = Strided {
                    first: from.first.offset(begin as isize * from.outer),
                    ..from
                };
                let to = to.add(panel * units * width);
                if from.inner == 1 && U::GROUP >= STEPS {
                    by_lane::<U, T, ROWS>(from, lanes, depth, width, to);
                } else if from.outer == 1 {
                    by_step::<U, T, ROWS>(from, lanes, depth, width, to);
                } else if size_of::<U>() == 4 && width.is_multiple_of(16) {
                    transposed::<S, U, T, 16, ROWS>(from, lanes, depth, width, to);
                } else if width.is_multiple_of(8) {
                    transposed::<S, U, T, 8, ROWS>(from, lanes, depth, width, to);
                } else {
                    transposed::<S, U, T, 4, ROWS>(from, lanes, depth, width, to);
                }
            }
        }
    }
}

/// Returns the unit of a group of elements.
#[inline(always)]
fn unit<U: Unit<T>, T, const ROWS: bool>(element: impl Fn(usize) -> T) -> U {
    if ROWS {
        U::from_row_group(element)
    } else {
        U::from_group(element)
    }
}

/// Packs lanes that lie one after another.
#[inline(always)]
unsafe fn by_step<U: Unit<T>, T: Copy + Default, const ROWS: bool>(
    from: Strided<T>,
    lanes: usize,
    depth: usize,
    width: usize,
    to: *mut U,
) {
    for at in 0..depth.div_ceil(U::GROUP) {
        let first = at * U::GROUP;
        // SAFETY: the contract of `Packing::new`: elements below `lanes` and `depth` are there, and
        // room for `width` units at each step.
        unsafe {
            let step = from.first.offset(first as isize * from.inner);
            let to = to.add(at * width);
            if first + U::GROUP <= depth {
                let mut begin = 0;
                while begin + 16 <= lanes {
                    for lane in begin..begin + 16 {
                        let element = |at: usize| *step.offset(at as isize * from.inner).add(lane);
                        to.add(lane).write(unit::<U, T, ROWS>(element));
                    }
                    begin += 16;
                }
                for lane in begin..lanes {
                    let element = |at: usize| *step.offset(at as isize * from.inner).add(lane);
                    to.add(lane).write(unit::<U, T, ROWS>(element));
                }
            } else {
                for lane in 0..lanes {
                    let element = |at: usize| match first + at < depth {
                        true => *step.offset(at as isize * from.inner).add(lane),
                        false => T::default(),
                    };
                    to.add(lane).write(unit::<U, T, ROWS>(element));
                }
            }
            for lane in lanes..width {
                to.add(lane).write(U::default());
            }
        }
    }
}

/// Packs lanes whose elements lie one after another, of units that are large enough for that.
#[inline(always)]
unsafe fn by_lane<U: Unit<T>, T: Copy + Default, const ROWS: bool>(
    from: Strided<T>,
    lanes: usize,
    depth: usize,
    width: usize,
    to: *mut U,
) {
    let whole = depth / U::GROUP;
    for lane in 0..lanes {
        // SAFETY: the contract of `Packing::new`: elements below `lanes` and `depth` are there, and
        // room for `width` units at each step.
        unsafe {
            let from = from.first.offset(lane as isize * from.outer);
            for at in 0..whole {
                let from = from.add(at * U::GROUP);
                let unit = unit::<U, T, ROWS>(|next| *from.add(next));
                to.add(at * width + lane).write(unit);
            }
            if whole * U::GROUP < depth {
                let element = |at: usize| match whole * U::GROUP + at {
                    at if at < depth => *from.add(at),
                    _ => T::default(),
                };
                let unit = unit::<U, T, ROWS>(element);
                to.add(whole * width + lane).write(unit);
            }
        }
    }
    for at in 0..depth.div_ceil(U::GROUP) {
        for lane in lanes..width {
            // SAFETY: there is room for `width` units at each step.
            unsafe { to.add(at * width + lane).write(U::default()) };
        }
    }
}

/// Packs lanes that lie apart, in squares that are transposed.
#[inline(always)]
unsafe fn transposed<
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
                // SAFETY: the contract of `Packing::new`: elements below `lanes` and `depth` are
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
            // `Packing::new`.
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
