//! Largest numbers and sums of contiguous floats, in several lanes that fit into vectors.
//!
//! A lane adds up a few numbers before it becomes part of a total in `f64`, so that sums are as
//! exact as pairwise ones. Lanes are the same at every SIMD level, and so are the results.

use super::number::Wide;

/// How many numbers are calculated with at once: a few vectors of any level.
const LANES: usize = 32;

/// How many numbers a lane adds up.
const DEPTH: usize = 64;

/// Returns the largest number, without regard to NaN.
#[inline(always)]
pub(super) fn largest<W: Wide>(x: &[W]) -> W {
    let larger = |a: W, b: W| if b > a { b } else { a };
    let mut lanes = [W::LOWEST; LANES];
    let (rows, rest) = x.as_chunks::<LANES>();
    for row in rows {
        join(&mut lanes, row, larger);
    }
    if !rest.is_empty() {
        join(&mut lanes, &padded(rest, W::LOWEST, |x| x), larger);
    }
    join_lanes(lanes, larger)
}

/// Returns the sum of what a function makes of each number.
#[inline(always)]
pub(super) fn sum<W: Wide>(x: &[W], function: impl Fn(W) -> W) -> f64 {
    let add = |a: W, b: W| a.add(b);
    let zero = W::from_f64(0.0);
    let mut total = 0.0;
    for x in x.chunks(DEPTH * LANES) {
        let mut lanes = [zero; LANES];
        let (rows, rest) = x.as_chunks::<LANES>();
        for row in rows {
            for at in 0..LANES {
                lanes[at] = lanes[at].add(function(row[at]));
            }
        }
        if !rest.is_empty() {
            join(&mut lanes, &padded(rest, zero, &function), add);
        }
        total += join_lanes(lanes, add).into();
    }
    total
}

/// Writes what a function makes of each number, and returns its sum.
#[inline(always)]
pub(super) fn map_and_sum<W: Wide>(x: &[W], out: &mut [W], function: impl Fn(W) -> W) -> f64 {
    let add = |a: W, b: W| a.add(b);
    let zero = W::from_f64(0.0);
    let mut total = 0.0;
    let chunks = out.chunks_mut(DEPTH * LANES);
    for (x, out) in x.chunks(DEPTH * LANES).zip(chunks) {
        let mut lanes = [zero; LANES];
        let (rows, rest) = x.as_chunks::<LANES>();
        let (out_rows, out_rest) = out.as_chunks_mut::<LANES>();
        for (row, out) in rows.iter().zip(out_rows) {
            for at in 0..LANES {
                out[at] = function(row[at]);
                lanes[at] = lanes[at].add(out[at]);
            }
        }
        if !rest.is_empty() {
            for (out, x) in out_rest.iter_mut().zip(rest) {
                *out = function(*x);
            }
            join(&mut lanes, &padded(out_rest, zero, |x| x), add);
        }
        total += join_lanes(lanes, add).into();
    }
    total
}

/// Returns what a function makes of a few numbers, and `empty` in the other lanes. Lanes
/// themselves are never indexed by numbers that only the program's run tells, so that the compiler
/// has them in registers.
#[inline(always)]
fn padded<W: Copy>(few: &[W], empty: W, function: impl Fn(W) -> W) -> [W; LANES] {
    let mut row = [empty; LANES];
    for (place, x) in row.iter_mut().zip(few) {
        *place = function(*x);
    }
    row
}

/// Joins a row with lanes.
#[inline(always)]
fn join<W: Copy>(lanes: &mut [W; LANES], row: &[W; LANES], function: impl Fn(W, W) -> W) {
    for at in 0..LANES {
        lanes[at] = function(lanes[at], row[at]);
    }
}

/// Joins lanes, by halves.
#[inline(always)]
fn join_lanes<W: Copy>(mut lanes: [W; LANES], function: impl Fn(W, W) -> W) -> W {
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] = function(lanes[at], lanes[at + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// How many short lines are calculated with at once.
pub(super) const ACROSS: usize = LANES;

/// Returns whether vectors hold numbers of different lines, rather than of one: there are more
/// lines than a line has elements, and these don't fill a row.
#[inline(always)]
pub(super) fn is_across(lines: usize, len: usize) -> bool {
    len < LANES && len < lines
}

/// Calls a function with some lines at a time, in columns of rows that it changes to the results:
/// lines of one length, for which [`is_across`] holds.
#[inline(always)]
pub(super) fn for_each_across<'a, W: Wide + 'a>(
    mut lines: impl Iterator<Item = (&'a [W], &'a mut [W])>,
    function: impl Fn(&mut [[W; ACROSS]]),
) {
    let mut rows = [[W::from_f64(0.0); ACROSS]; LANES];
    loop {
        let mut results: [&mut [W]; ACROSS] = std::array::from_fn(|_| Default::default());
        let (mut count, mut len) = (0, 0);
        for (x, out) in lines.by_ref().take(ACROSS) {
            len = x.len();
            for (row, x) in rows.iter_mut().zip(x) {
                row[count] = *x;
            }
            results[count] = out;
            count += 1;
        }
        if count == 0 {
            return;
        }
        function(&mut rows[..len]);
        for (at, out) in results.iter_mut().enumerate().take(count) {
            for (out, row) in out.iter_mut().zip(&rows) {
                *out = row[at];
            }
        }
    }
}

/// Returns the sum of each column of fewer than [`LANES`] rows, with the bits that [`sum`] has, as
/// it depends on where results go which lines are calculated with at once.
#[inline(always)]
pub(super) fn sums<W: Wide>(rows: impl ExactSizeIterator<Item = [W; ACROSS]>) -> [W; ACROSS] {
    let len = rows.len();
    let mut half = LANES / 2;
    let mut parts = [[W::from_f64(0.0); ACROSS]; LANES / 2];
    for (at, row) in rows.enumerate() {
        let part = &mut parts[at % half];
        for at in 0..ACROSS {
            part[at] = part[at].add(row[at]);
        }
    }
    while half > 1 {
        half /= 2;
        for at in half..len.min(2 * half) {
            let row = parts[at];
            let part = &mut parts[at - half];
            for at in 0..ACROSS {
                part[at] = part[at].add(row[at]);
            }
        }
    }
    parts[0]
}
