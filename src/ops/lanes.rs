//! Largest numbers and sums of contiguous floats, in several lanes that fit into vectors.
//!
//! A lane adds up a few numbers before it becomes part of a total in `f64`, so that sums are as
//! exact as pairwise ones. Lanes are the same at every SIMD level, and so are the results.

use super::number::Wide;

/// How many numbers are calculated with at once: a few vectors of any level.
pub(super) const LANES: usize = 32;

/// How many numbers a lane adds up.
pub(super) const DEPTH: usize = 64;

/// How many rows of numbers are added up before they meet lanes, which may be in memory.
const ROWS: usize = 8;

/// Returns the largest number, without regard to NaN.
#[inline(always)]
pub(super) fn largest<W: Wide>(x: &[W]) -> W {
    let larger = |a: W, b: W| if b > a { b } else { a };
    let [largest] = fold(x, W::LOWEST, larger, |x| [x]);
    largest
}

/// Returns sums of what a function makes of each number.
#[inline(always)]
pub(super) fn sums<W: Wide, const N: usize>(x: &[W], function: impl Fn(W) -> [W; N]) -> [f64; N] {
    let mut totals = [0.0; N];
    for x in x.chunks(DEPTH * LANES) {
        let sums = fold(x, W::from_f64(0.0), |a, b| a.add(b), &function);
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total += sum.into();
        }
    }
    totals
}

/// Joins what a function makes of each number.
#[inline(always)]
fn fold<W: Wide, const N: usize>(
    x: &[W],
    empty: W,
    join: impl Fn(W, W) -> W,
    function: impl Fn(W) -> [W; N],
) -> [W; N] {
    let mut lanes = [[empty; LANES]; N];
    let (chunks, rest) = x.as_chunks::<LANES>();
    let (many, few) = chunks.as_chunks::<ROWS>();
    for rows in many {
        add(&mut lanes, rows, &join, &function);
    }
    for row in few {
        add(&mut lanes, std::array::from_ref(row), &join, &function);
    }
    for (at, x) in rest.iter().enumerate() {
        let terms = function(*x);
        for (lanes, term) in lanes.iter_mut().zip(terms) {
            lanes[at] = join(lanes[at], term);
        }
    }
    // Not `map`, whose closure would be compiled for the baseline.
    let mut results = [empty; N];
    for (result, lanes) in results.iter_mut().zip(lanes) {
        *result = join_lanes(lanes, &join);
    }
    results
}

/// Joins rows with lanes.
#[inline(always)]
fn add<W: Wide, const N: usize, const ROWS: usize>(
    lanes: &mut [[W; LANES]; N],
    rows: &[[W; LANES]; ROWS],
    join: impl Fn(W, W) -> W,
    function: impl Fn(W) -> [W; N],
) {
    for at in 0..LANES {
        let mut sums = [lanes[0][at]; N];
        for (sum, lanes) in sums.iter_mut().zip(&*lanes) {
            *sum = lanes[at];
        }
        for row in rows {
            let terms = function(row[at]);
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum = join(*sum, term);
            }
        }
        for (lanes, sum) in lanes.iter_mut().zip(sums) {
            lanes[at] = sum;
        }
    }
}

/// Joins lanes, by halves.
#[inline(always)]
pub(super) fn join_lanes<W: Copy>(mut lanes: [W; LANES], function: impl Fn(W, W) -> W) -> W {
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] = function(lanes[at], lanes[at + half]);
        }
        half /= 2;
    }
    lanes[0]
}
