//! Lanes: the accumulators of a fold that are in registers.

use super::fold::Fold;
use super::load::Load;
use crate::compute::simd::Simd;

/// The bytes of the lanes.
const LANES: usize = 256;

/// The lanes that the last elements of a line are added to at once.
const FEW: usize = 8;

/// Returns how many lanes of a type there is room for.
pub(super) const fn lanes<T>() -> usize {
    match size_of::<T>() {
        0 => LANES,
        size => LANES / size,
    }
}

/// Returns lanes in one, with the elements that are left over.
#[inline(always)]
pub(super) fn joined<D: Load, F: Fold<D::Loaded>, const L: usize>(
    fold: F,
    mut lanes: [F::Lane; L],
    rest: &[D::Stored],
) -> F::Lane {
    if !rest.is_empty() {
        // In a copy, as lanes that are reached by an index are kept in memory.
        let mut all = lanes;
        add_rest::<D, F, L>(fold, &mut all, rest);
        lanes = all;
    }
    // Lengths are constants, so that these loops are unrolled and vectorised.
    if const { L > 64 } {
        join_halves::<D::Loaded, F, 64>(fold, &mut lanes);
    }
    if const { L > 32 } {
        join_halves::<D::Loaded, F, 32>(fold, &mut lanes);
    }
    if const { L > 16 } {
        join_halves::<D::Loaded, F, 16>(fold, &mut lanes);
    }
    join_halves::<D::Loaded, F, 8>(fold, &mut lanes);
    join_halves::<D::Loaded, F, 4>(fold, &mut lanes);
    join_halves::<D::Loaded, F, 2>(fold, &mut lanes);
    fold.join(lanes[0], lanes[1])
}

/// Adds fewer elements than there are lanes.
#[inline(always)]
fn add_rest<D: Load, F: Fold<D::Loaded>, const L: usize>(
    fold: F,
    lanes: &mut [F::Lane; L],
    rest: &[D::Stored],
) {
    let (few, rest) = rest.as_chunks::<FEW>();
    let (chunks, _) = lanes.as_chunks_mut::<FEW>();
    for (lanes, few) in chunks.iter_mut().zip(few) {
        for at in 0..FEW {
            lanes[at] = fold.add(lanes[at], D::load(few[at]));
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = fold.add(*lane, D::load(*x));
    }
}

/// Adds rows of elements to lanes: several at once, as lanes may be kept in memory.
#[inline(always)]
pub(super) fn add_to_lanes<D: Load, F: Fold<D::Loaded>, S: Simd, const L: usize, const N: usize>(
    fold: F,
    lanes: &mut [F::Lane; L],
    rows: &[[D::Stored; L]; N],
) {
    if D::BY_ROWS {
        for row in rows {
            let row = D::load_row::<S, L>(row);
            for at in 0..L {
                lanes[at] = fold.add(lanes[at], row[at]);
            }
        }
        return;
    }
    for at in 0..L {
        let mut lane = lanes[at];
        for row in rows {
            lane = fold.add(lane, D::load(row[at]));
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
