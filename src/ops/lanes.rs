//! Largest numbers and sums of contiguous floats, in several lanes that fit into vectors.
//!
//! A lane adds up a few numbers before it becomes part of a total in `f64`, so that sums are as
//! exact as pairwise ones. Lanes are the same at every SIMD level, and so are the results.

use super::number::{Float, Number, Wide};
use crate::compute::Simd;
use crate::compute::elementwise::Widen;

/// How many numbers are calculated with at once: a few vectors of any level.
pub(super) const LANES: usize = 32;

/// How many numbers a lane adds up.
const DEPTH: usize = 64;

/// Returns the largest number, without regard to NaN.
#[inline(always)]
pub(super) fn largest<S: Simd, T: Float>(x: &[T], _: S) -> T::Wide {
    let larger = |a: T::Wide, b: T::Wide| if b > a { b } else { a };
    let mut lanes = [T::Wide::LOWEST; LANES];
    let (rows, rest) = x.as_chunks();
    for row in rows {
        join(&mut lanes, &T::widen_chunk::<S, LANES>(row), larger);
    }
    if !rest.is_empty() {
        join(&mut lanes, &last_row::<S, T>(x), larger);
    }
    join_lanes(lanes, larger)
}

/// Returns the sum of what a function makes of each number.
#[inline(always)]
pub(super) fn sum<S: Simd, T: Widen<Wide: Wide>>(
    x: &[T],
    _: S,
    function: impl Fn(T::Wide) -> T::Wide,
) -> f64 {
    let add = |a: T::Wide, b: T::Wide| a.add(b);
    let mut total = 0.0;
    for block in x.chunks(DEPTH * LANES) {
        let mut lanes = [T::Wide::from_f64(0.0); LANES];
        let (rows, rest) = block.as_chunks();
        for row in rows {
            let row = T::widen_chunk::<S, LANES>(row);
            for at in 0..LANES {
                lanes[at] = lanes[at].add(function(row[at]));
            }
        }
        if !rest.is_empty() {
            let row = mapped(last_row::<S, T>(x), &function);
            join(&mut lanes, &only_last(row, x.len()), add);
        }
        total += join_lanes(lanes, add).into();
    }
    total
}

/// Writes what a function makes of each number, and returns its sum.
#[inline(always)]
pub(super) fn map_and_sum<S: Simd, T: Float>(
    x: &[T],
    out: &mut [T::Wide],
    _: S,
    function: impl Fn(T::Wide) -> T::Wide,
) -> f64 {
    let add = |a: T::Wide, b: T::Wide| a.add(b);
    let mut total = 0.0;
    for (at, block) in x.chunks(DEPTH * LANES).enumerate() {
        let mut lanes = [T::Wide::from_f64(0.0); LANES];
        let (rows, rest) = block.as_chunks();
        let places = out[at * DEPTH * LANES..].as_chunks_mut::<LANES>().0;
        for (row, place) in rows.iter().zip(places) {
            let row = T::widen_chunk::<S, LANES>(row);
            for at in 0..LANES {
                place[at] = function(row[at]);
                lanes[at] = lanes[at].add(place[at]);
            }
        }
        if !rest.is_empty() {
            let row = mapped(last_row::<S, T>(x), &function);
            write_last(&row, out);
            join(&mut lanes, &only_last(row, x.len()), add);
        }
        total += join_lanes(lanes, add).into();
    }
    total
}

/// Writes what a function makes of each number, and of those in the same place of other lines.
#[inline(always)]
pub(super) fn map<S: Simd, T: Float, const N: usize>(
    x: &[T],
    others: [&[T::Wide]; N],
    out: &mut [T],
    _: S,
    function: impl Fn(T::Wide, [T::Wide; N]) -> T::Wide,
) {
    if !T::BY_CHUNKS {
        let others = others.map(|other| &other[..x.len()]);
        for (at, (x, out)) in x.iter().zip(out).enumerate() {
            *out = T::narrow(function(x.widen(), others.map(|other| other[at])));
        }
        return;
    }
    let (rows, rest) = x.as_chunks();
    let other_rows = others.map(|other| other.as_chunks::<LANES>().0);
    for (at, (row, place)) in rows.iter().zip(out.as_chunks_mut().0).enumerate() {
        let mut row = T::widen_chunk::<S, LANES>(row);
        let others = other_rows.map(|rows| &rows[at]);
        for at in 0..LANES {
            row[at] = function(row[at], others.map(|other| other[at]));
        }
        *place = T::narrow_chunk::<S, LANES>(&row);
    }
    if !rest.is_empty() {
        let mut row = last_row::<S, T>(x);
        let others = others.map(last_row::<S, T::Wide>);
        for at in 0..LANES {
            row[at] = function(row[at], others.each_ref().map(|other| other[at]));
        }
        write_last(&T::narrow_chunk::<S, LANES>(&row), out);
    }
}

/// Writes each number times a factor.
#[inline(always)]
pub(super) fn scale<S: Simd, T: Float>(x: &[T::Wide], out: &mut [T], _: S, factor: T::Wide) {
    let (rows, rest) = x.as_chunks();
    for (row, place) in rows.iter().zip(out.as_chunks_mut().0) {
        let row = mapped(*row, |x| x.mul(factor));
        *place = T::narrow_chunk::<S, LANES>(&row);
    }
    if !rest.is_empty() {
        let row = mapped(last_row::<S, T::Wide>(x), |x| x.mul(factor));
        write_last(&T::narrow_chunk::<S, LANES>(&row), out);
    }
}

/// Returns the row at a line's end, which overlaps the row before it, so that none is assembled of
/// a few numbers. A line that is shorter than a row is followed by any of its numbers.
#[inline(always)]
fn last_row<S: Simd, T: Widen>(line: &[T]) -> [T::Wide; LANES] {
    if let Some(row) = line.last_chunk() {
        return T::widen_chunk::<S, LANES>(row);
    }
    let mut row = [line[0]; LANES];
    row[..line.len()].copy_from_slice(line);
    T::widen_chunk::<S, LANES>(&row)
}

/// Writes what [`last_row`] reads.
#[inline(always)]
fn write_last<T: Copy>(row: &[T; LANES], line: &mut [T]) {
    match line.last_chunk_mut() {
        Some(place) => *place = *row,
        None => line.copy_from_slice(&row[..line.len()]),
    }
}

/// Returns a line's last row with 0 for numbers that are of the row before, or of none.
#[inline(always)]
fn only_last<W: Wide>(mut row: [W; LANES], len: usize) -> [W; LANES] {
    let rest = len % LANES;
    let numbers = match len < LANES {
        true => 0..rest,
        false => LANES - rest..LANES,
    };
    for (at, x) in row.iter_mut().enumerate() {
        *x = if numbers.contains(&at) {
            *x
        } else {
            W::from_f64(0.0)
        };
    }
    row
}

/// Returns what a function makes of each number of a row.
#[inline(always)]
pub(super) fn mapped<W: Copy>(mut row: [W; LANES], function: impl Fn(W) -> W) -> [W; LANES] {
    for x in &mut row {
        *x = function(*x);
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

/// Returns the largest number of each column, without regard to NaN.
#[inline(always)]
pub(super) fn largests<W: Wide>(rows: &[[W; LANES]]) -> [W; LANES] {
    let mut largests = [W::LOWEST; LANES];
    for row in rows {
        join(&mut largests, row, |a, b| if b > a { b } else { a });
    }
    largests
}

/// Returns the sum of each column of fewer than [`LANES`] rows, with the bits that [`sum`] has, as
/// it depends on where results go which lines are calculated with at once.
#[inline(always)]
pub(super) fn sums<W: Wide>(rows: impl ExactSizeIterator<Item = [W; LANES]>) -> [W; LANES] {
    let len = rows.len();
    let mut half = LANES / 2;
    let mut parts = [[W::from_f64(0.0); LANES]; LANES / 2];
    for (at, row) in rows.enumerate() {
        let part = &mut parts[at % half];
        for at in 0..LANES {
            part[at] = part[at].add(row[at]);
        }
    }
    while half > 1 {
        half /= 2;
        for at in half..len.min(2 * half) {
            let row = parts[at];
            let part = &mut parts[at - half];
            for at in 0..LANES {
                part[at] = part[at].add(row[at]);
            }
        }
    }
    parts[0]
}
