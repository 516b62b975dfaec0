//! Packing: panels of a matrix in the order in which micro-kernels read them.

use super::element::{Unit, unit};
use super::operands::Strided;
use super::squares::{STEPS, transposed};
use crate::compute::{Routine, Simd, dispatch};

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

impl<U: Unit<T>, T: Copy + Default> Pack<U, T> {
    /// Packs rows of the first factor.
    ///
    /// # Safety
    ///
    /// The part of the matrix can be read, and there is room for the units of all panels.
    pub(super) unsafe fn rows(self) {
        dispatch(Packing::<U, T, true>(self));
    }

    /// Packs columns of the second factor: as smaller units, if they are, and zeros after the last.
    ///
    /// # Safety
    ///
    /// As for [`rows`](Self::rows).
    pub(super) unsafe fn columns(self) {
        if const { size_of::<U>() == size_of::<U::Column>() } {
            return dispatch(Packing::<U, T, false>(self));
        }
        let units = self.depth.div_ceil(U::Column::GROUP);
        let room = self.depth.div_ceil(U::GROUP) * (U::GROUP / U::Column::GROUP);
        for panel in 0..self.panels.count {
            let (begin, lanes) = self.panels.get(panel);
            // SAFETY: the elements of all lanes are there, and room for all panels, each of as many
            // bytes in these units as in those of `U`.
            unsafe {
                let to = self.to.cast::<U::Column>().add(panel * room * self.width);
                dispatch(Packing::<U::Column, T, false>(Pack {
                    from: Strided {
                        first: self.from.first.offset(begin as isize * self.from.outer),
                        ..self.from
                    },
                    panels: Panels::full(lanes, self.width),
                    depth: self.depth,
                    width: self.width,
                    to,
                }));
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
struct Packing<U, T, const ROWS: bool>(Pack<U, T>);

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
            // SAFETY: the contract of `Pack::rows`: the elements of all lanes are there, and room
            // for all panels.
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
        // SAFETY: the contract of `Pack::rows`: elements below `lanes` and `depth` are there, and
        // room for `width` units at each step.
        unsafe {
            let step = from.first.offset(first as isize * from.inner);
            let to = to.add(at * width);
            if first + U::GROUP <= depth {
                let mut begin = 0;
                while begin + 16 <= lanes {
                    // All are read first: compilers take what is written for what is read next.
                    let mut units = [U::default(); 16];
                    for (at, to) in units.iter_mut().enumerate() {
                        let lane = step.add(begin + at);
                        *to = unit::<U, T, ROWS>(|at| *lane.offset(at as isize * from.inner));
                    }
                    to.add(begin).cast::<[U; 16]>().write(units);
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
        // SAFETY: the contract of `Pack::rows`: elements below `lanes` and `depth` are there, and
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
