//! The loop of folds over contiguous elements that aren't in a cache.

use super::fold::Fold;
use super::fold_lanes::{add_to_lanes, joined, lanes};
use super::load::Load;
use crate::compute::simd::{Routine, Simd};
use std::marker::PhantomData;
use std::slice;

/// The lines, or parts of one, that are read in turns where that
/// [gains](crate::compute::stream::reads_in_turns).
pub(super) const AT_ONCE: usize = 4;

/// The least bytes of elements that are too many for most caches.
pub(super) const FAR: usize = if cfg!(debug_assertions) {
    1 << 14
} else {
    8 << 20
};

/// The least bytes of lines of which several are read in turns.
pub(super) const SHORT_LINE: usize = if cfg!(debug_assertions) { 256 } else { 2048 };

/// The least bytes of a line whose parts are read in turns.
pub(super) const LONG_LINE: usize = 32 * SHORT_LINE;

/// Contiguous elements of some totals, each from its own address on, of which [`AT_ONCE`] are read
/// in turns.
pub(super) struct Turns<'a, D: Load, F: Fold<D::Loaded>>(
    pub(super) F,
    pub(super) &'a mut [F::Total],
    pub(super) *const u8,
    pub(super) (usize, isize),
    pub(super) PhantomData<D>,
);

impl<D: Load, F: Fold<D::Loaded>> Routine for Turns<'_, D, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // As the conditions are constants, the branches that aren't taken are never compiled.
        if const { lanes::<F::Lane>() < 64 } {
            self.with_lanes::<S, 16>();
        } else if const { lanes::<F::Lane>() < 128 } {
            self.with_lanes::<S, 32>();
        } else {
            self.with_lanes::<S, 64>();
        }
    }
}

impl<D: Load, F: Fold<D::Loaded>> Turns<'_, D, F> {
    #[inline(always)]
    fn with_lanes<S: Simd, const L: usize>(self) {
        let Self(fold, totals, x, (len, step), _) = self;
        let apart = totals.len().div_ceil(AT_ONCE);
        for first in 0..apart {
            // The first stands for those that aren't there, with the same total.
            let places = std::array::from_fn(|at| match first + at * apart {
                place if place < totals.len() => place,
                _ => first,
            });
            let lines = places.map(|at| {
                // SAFETY: `Accumulate::along` requires as many elements for each total.
                unsafe {
                    let x = x.wrapping_offset(at as isize * step).cast::<D::Stored>();
                    slice::from_raw_parts(x, len)
                }
            });
            let before = places.map(|at| totals[at]);
            let after = fold_together::<D, F, S, L>(fold, lines, before);
            for (at, total) in places.into_iter().zip(after) {
                totals[at] = total;
            }
        }
    }
}

/// Returns the totals of lines of one length with their elements.
#[inline(always)]
fn fold_together<D: Load, F: Fold<D::Loaded>, S: Simd, const L: usize>(
    fold: F,
    x: [&[D::Stored]; AT_ONCE],
    mut totals: [F::Total; AT_ONCE],
) -> [F::Total; AT_ONCE] {
    let mut blocks = x.map(|x| x.chunks(F::DEPTH * L));
    while let [Some(a), Some(b), Some(c), Some(d)] = blocks.each_mut().map(Iterator::next) {
        let x = [a, b, c, d].map(|block| block.as_chunks::<L>());
        let count = x[0].0.len();
        let rows = x.map(|(rows, _)| &rows[..count]);
        // Each has a name, so that they are kept in registers.
        let [mut a, mut b, mut c, mut d] = [[fold.empty_lane(); L]; AT_ONCE];
        for at in 0..count {
            let row = rows.map(|rows| std::array::from_ref(&rows[at]));
            add_to_lanes::<D, F, S, L, 1>(fold, &mut a, row[0]);
            add_to_lanes::<D, F, S, L, 1>(fold, &mut b, row[1]);
            add_to_lanes::<D, F, S, L, 1>(fold, &mut c, row[2]);
            add_to_lanes::<D, F, S, L, 1>(fold, &mut d, row[3]);
        }
        let lanes = [
            joined::<D, F, L>(fold, a, x[0].1),
            joined::<D, F, L>(fold, b, x[1].1),
            joined::<D, F, L>(fold, c, x[2].1),
            joined::<D, F, L>(fold, d, x[3].1),
        ];
        for (total, lane) in totals.iter_mut().zip(lanes) {
            *total = fold.add_lane(*total, lane);
        }
    }
    totals
}
