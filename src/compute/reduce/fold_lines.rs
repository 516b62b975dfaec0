//! The loops of folds, over contiguous elements.

use super::fold::Fold;
use crate::compute::simd::{Routine, Simd};
use crate::dtype::Element;
use std::marker::PhantomData;
use std::slice;

/// The bytes of the lanes.
const LANES: usize = 256;

/// The most elements that a lane adds up before it becomes part of a total.
const DEPTH: usize = 64;

/// The lanes that the last elements of a line are added to at once.
const FEW: usize = 8;

/// The number of rows that are added up before they meet lanes or totals in memory.
const ROWS: usize = 8;

/// Contiguous elements of some totals, each from its own address on.
pub(super) struct Lines<'a, T, F: Fold<T>>(
    pub(super) F,
    pub(super) &'a mut [F::Total],
    pub(super) *const u8,
    pub(super) (usize, isize),
    pub(super) PhantomData<T>,
);

impl<T: Element, F: Fold<T>> Routine for Lines<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self(fold, totals, x, (len, step), _) = self;
        for (at, total) in totals.iter_mut().enumerate() {
            // SAFETY: `Accumulate::along` requires as many elements for each total.
            let x = unsafe {
                let x = x.wrapping_offset(at as isize * step).cast::<T>();
                slice::from_raw_parts(x, len)
            };
            *total = fold_slice(fold, x, *total, simd);
        }
    }
}

/// Returns a total with elements, compiled for the level of the function that calls it.
#[inline(always)]
pub(super) fn fold_slice<T: Element, F: Fold<T>>(
    fold: F,
    x: &[T],
    total: F::Total,
    simd: impl Simd,
) -> F::Total {
    Along(fold, x, total).run(simd)
}

struct Along<'a, T, F: Fold<T>>(F, &'a [T], F::Total);

impl<T: Element, F: Fold<T>> Routine for Along<'_, T, F> {
    type Output = F::Total;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> F::Total {
        let Self(fold, x, total) = self;
        // The branch that isn't taken is never compiled.
        match LANES / size_of::<F::Lane>().max(1) {
            ..64 => fold_line::<T, F, 32>(fold, x, total),
            64..128 => fold_line::<T, F, 64>(fold, x, total),
            128.. => fold_line::<T, F, 128>(fold, x, total),
        }
    }
}

/// Returns a total with elements: lane `n` adds up those at every `L`th place from `n` on.
#[inline(always)]
fn fold_line<T: Element, F: Fold<T>, const L: usize>(
    fold: F,
    x: &[T],
    mut total: F::Total,
) -> F::Total {
    for block in x.chunks(DEPTH * L) {
        let mut lanes = [fold.empty_lane(); L];
        let (rows, rest) = block.as_chunks::<L>();
        let (many, rows) = rows.as_chunks::<ROWS>();
        for rows in many {
            add_to_lanes(fold, &mut lanes, rows);
        }
        let (pairs, rows) = rows.as_chunks::<2>();
        for rows in pairs {
            add_to_lanes(fold, &mut lanes, rows);
        }
        for row in rows {
            add_to_lanes(fold, &mut lanes, std::array::from_ref(row));
        }
        let (few, rest) = rest.as_chunks::<FEW>();
        for (lanes, few) in lanes.as_chunks_mut::<FEW>().0.iter_mut().zip(few) {
            for at in 0..FEW {
                lanes[at] = fold.add(lanes[at], few[at]);
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *lane = fold.add(*lane, *x);
        }
        // Lengths are constants, so that these loops are unrolled and vectorised.
        if L > 64 {
            join_halves::<T, F, 64>(fold, &mut lanes);
        }
        if L > 32 {
            join_halves::<T, F, 32>(fold, &mut lanes);
        }
        join_halves::<T, F, 16>(fold, &mut lanes);
        join_halves::<T, F, 8>(fold, &mut lanes);
        join_halves::<T, F, 4>(fold, &mut lanes);
        join_halves::<T, F, 2>(fold, &mut lanes);
        total = fold.add_lane(total, fold.join(lanes[0], lanes[1]));
    }
    total
}

/// Adds rows of elements to lanes: several at once, as lanes may be kept in memory.
#[inline(always)]
fn add_to_lanes<T: Element, F: Fold<T>, const L: usize, const N: usize>(
    fold: F,
    lanes: &mut [F::Lane; L],
    rows: &[[T; L]; N],
) {
    for at in 0..L {
        let mut lane = lanes[at];
        for row in rows {
            lane = fold.add(lane, row[at]);
        }
        lanes[at] = lane;
    }
}

/// Joins the first lanes with as many lanes after them.
#[inline(always)]
fn join_halves<T, F: Fold<T>, const HALF: usize>(fold: F, lanes: &mut [F::Lane]) {
    // At least twice as many, where this is called.
    for at in 0..HALF.min(lanes.len() / 2) {
        lanes[at] = fold.join(lanes[at], lanes[at + HALF]);
    }
}

pub(super) struct Across<'a, T, F: Fold<T>>(
    pub(super) F,
    pub(super) &'a mut [F::Total],
    pub(super) *const u8,
    pub(super) (usize, isize),
    pub(super) PhantomData<T>,
);

impl<T: Element, F: Fold<T>> Routine for Across<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(fold, totals, x, (rows, step), _) = self;
        let count = totals.len();
        let row = |row: usize| {
            // SAFETY: `Accumulate::across` requires `rows` rows of as many elements as there are
            // accumulators.
            unsafe {
                let x = x.wrapping_offset(row as isize * step).cast::<T>();
                slice::from_raw_parts(x, count)
            }
        };
        let whole = rows / ROWS * ROWS;
        for first in (0..whole).step_by(ROWS) {
            let rows: [&[T]; ROWS] = std::array::from_fn(|at| row(first + at));
            add_rows(fold, totals, rows);
        }
        for at in whole..rows {
            let row = row(at);
            add_rows(fold, totals, [row]);
        }
    }
}

/// Adds rows to totals. As an argument of a function the totals are known not to overlap them.
#[inline(always)]
fn add_rows<T: Element, F: Fold<T>, const N: usize>(
    fold: F,
    totals: &mut [F::Total],
    rows: [&[T]; N],
) {
    let rows = rows.map(|row| &row[..totals.len()]);
    for (at, total) in totals.iter_mut().enumerate() {
        let mut lane = fold.empty_lane();
        for row in rows {
            lane = fold.add(lane, row[at]);
        }
        *total = fold.add_lane(*total, lane);
    }
}
