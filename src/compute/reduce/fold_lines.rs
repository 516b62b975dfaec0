//! The loops of folds, over contiguous elements.

use super::fold::Fold;
use super::fold_lanes::{add_to_lanes, joined, lanes};
use super::load::Load;
#[cfg(feature = "ops")]
use super::load::Plain;
use crate::compute::simd::{Routine, Simd};
#[cfg(feature = "ops")]
use crate::dtype::Element;
use std::marker::PhantomData;
use std::slice;

/// The number of rows that are added to lanes at once: CPUs read ahead of elements that come nearly
/// in the order of their addresses.
const LANE_ROWS: usize = 4;

/// The number of rows that are added up before they meet totals in memory.
pub(super) const ROWS: usize = 8;

/// The columns of which rows are loaded at once.
const COLUMNS: usize = 64;

/// Contiguous elements of some totals, each from its own address on.
pub(super) struct Lines<'a, D: Load, F: Fold<D::Loaded>>(
    pub(super) F,
    pub(super) &'a mut [F::Total],
    pub(super) *const u8,
    pub(super) (usize, isize),
    pub(super) PhantomData<D>,
);

impl<D: Load, F: Fold<D::Loaded>> Routine for Lines<'_, D, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self(fold, totals, x, (len, step), _) = self;
        for (at, total) in totals.iter_mut().enumerate() {
            // SAFETY: `Accumulate::along` requires as many elements for each total.
            let x = unsafe {
                let x = x.wrapping_offset(at as isize * step).cast::<D::Stored>();
                slice::from_raw_parts(x, len)
            };
            *total = Along::<D, F>(fold, x, *total).run(simd);
        }
    }
}

/// Returns a total with elements, compiled for the level of the function that calls it.
#[cfg(feature = "ops")]
#[inline(always)]
pub(super) fn fold_slice<T: Element, F: Fold<T>>(
    fold: F,
    x: &[T],
    total: F::Total,
    simd: impl Simd,
) -> F::Total {
    Along::<Plain<T>, F>(fold, x, total).run(simd)
}

struct Along<'a, D: Load, F: Fold<D::Loaded>>(F, &'a [D::Stored], F::Total);

impl<D: Load, F: Fold<D::Loaded>> Routine for Along<'_, D, F> {
    type Output = F::Total;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> F::Total {
        let Self(fold, x, total) = self;
        // As the conditions are constants, the branches that aren't taken are never compiled.
        if const { lanes::<F::Lane>() < 64 } {
            fold_line::<D, F, S, 32>(fold, x, total)
        } else if const { lanes::<F::Lane>() < 128 } {
            fold_line::<D, F, S, 64>(fold, x, total)
        } else {
            fold_line::<D, F, S, 128>(fold, x, total)
        }
    }
}

/// Returns a total with elements: lane `n` adds up those at every `L`th place from `n` on.
#[inline(always)]
fn fold_line<D: Load, F: Fold<D::Loaded>, S: Simd, const L: usize>(
    fold: F,
    x: &[D::Stored],
    mut total: F::Total,
) -> F::Total {
    for block in x.chunks(F::DEPTH * L) {
        let mut lanes = [fold.empty_lane(); L];
        let (rows, rest) = block.as_chunks::<L>();
        let (many, rows) = rows.as_chunks::<LANE_ROWS>();
        for rows in many {
            add_to_lanes::<D, F, S, L, LANE_ROWS>(fold, &mut lanes, rows);
        }
        for row in rows {
            add_to_lanes::<D, F, S, L, 1>(fold, &mut lanes, std::array::from_ref(row));
        }
        total = fold.add_lane(total, joined::<D, F, L>(fold, lanes, rest));
    }
    total
}

pub(super) struct Across<'a, D: Load, F: Fold<D::Loaded>>(
    pub(super) F,
    pub(super) &'a mut [F::Total],
    pub(super) *const u8,
    pub(super) (usize, isize),
    pub(super) PhantomData<D>,
);

impl<D: Load, F: Fold<D::Loaded>> Routine for Across<'_, D, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(fold, totals, x, (rows, step), _) = self;
        let count = totals.len();
        let row = |row: usize| {
            // SAFETY: `Accumulate::across` requires `rows` rows of as many elements as there are
            // accumulators.
            unsafe {
                let x = x.wrapping_offset(row as isize * step).cast::<D::Stored>();
                slice::from_raw_parts(x, count)
            }
        };
        let whole = rows / ROWS * ROWS;
        let mut many: [&[D::Stored]; ROWS] = [&[]; ROWS];
        for first in (0..whole).step_by(ROWS) {
            for (at, many) in many.iter_mut().enumerate() {
                *many = row(first + at);
            }
            add_rows::<D, F, S, ROWS>(fold, totals, many);
        }
        let mut at = whole;
        if rows - at >= 4 {
            let few = [row(at), row(at + 1), row(at + 2), row(at + 3)];
            add_rows::<D, F, S, 4>(fold, totals, few);
            at += 4;
        }
        for at in at..rows {
            add_rows::<D, F, S, 1>(fold, totals, [row(at)]);
        }
    }
}

/// Adds rows to totals. As an argument of a function the totals are known not to overlap them.
///
/// Rows are cut by loops: a closure for `map` would be compiled for each of the many types.
#[inline(always)]
fn add_rows<D: Load, F: Fold<D::Loaded>, S: Simd, const N: usize>(
    fold: F,
    totals: &mut [F::Total],
    mut rows: [&[D::Stored]; N],
) {
    let mut totals = totals;
    for row in &mut rows {
        *row = &row[..totals.len()];
    }
    if D::BY_ROWS {
        let (chunks, rest) = totals.as_chunks_mut::<COLUMNS>();
        for (at, totals) in chunks.iter_mut().enumerate() {
            let mut lanes = [fold.empty_lane(); COLUMNS];
            for row in &rows {
                let row = D::load_row::<S, COLUMNS>(&row.as_chunks().0[at]);
                for at in 0..COLUMNS {
                    lanes[at] = fold.add(lanes[at], row[at]);
                }
            }
            for at in 0..COLUMNS {
                totals[at] = fold.add_lane(totals[at], lanes[at]);
            }
        }
        for row in &mut rows {
            *row = row.as_chunks::<COLUMNS>().1;
        }
        totals = rest;
    }
    for row in &mut rows {
        *row = &row[..totals.len()];
    }
    for (at, total) in totals.iter_mut().enumerate() {
        let mut lane = fold.empty_lane();
        for row in rows {
            lane = fold.add(lane, D::load(row[at]));
        }
        *total = fold.add_lane(*total, lane);
    }
}
