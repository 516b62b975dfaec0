//! Means and variances: in blocks that stay in the first-level cache, of which the mean is found
//! first; blocks are merged by [Chan's formula](
//! https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Parallel_algorithm) in `f64`.

use super::accumulate::{Accumulate, Positions};
use super::driver::reduce_views;
use crate::compute::simd::{Routine, Simd, dispatch};
use crate::dtype::Element;
use crate::view::{View, ViewMut};
use std::marker::PhantomData;
use std::slice;

/// Elements of a line that are summed up twice.
const BLOCK: usize = 2048;

/// The lanes of a line.
const LANES: usize = 64;

/// Rows and columns of which sums are made twice.
const ROWS: usize = 32;
const COLUMNS: usize = 64;

/// Count, mean, and sum of the squared distances from the mean. The mean is the sum of two numbers,
/// as differences between means that are far from 0 would have few digits otherwise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    pub(crate) count: f64,
    center: f64,
    /// How far the mean is from the center.
    shift: f64,
    pub(crate) squares: f64,
}

impl Moments {
    const NONE: Self = Self {
        count: 0.0,
        center: 0.0,
        shift: 0.0,
        squares: 0.0,
    };

    /// Returns the moments of both parts.
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        if self.count == 0.0 {
            return other;
        }
        let count = self.count + other.count;
        let part = other.count / count;
        let distance = (other.center - self.center) + (other.shift - self.shift);
        Self {
            count,
            center: self.center,
            shift: self.shift + distance * part,
            squares: self.squares + other.squares + distance * distance * self.count * part,
        }
    }

    /// Returns the moments of numbers near `center`, from the sums of their distances from it, and
    /// of the squares of these.
    #[inline(always)]
    fn around(center: f64, count: f64, distances: f64, squares: f64) -> Self {
        let shift = distances / count;
        let squares = squares - shift * distances;
        Self {
            count,
            center,
            shift,
            // Rounding may leave less than nothing; NaN stays.
            squares: if squares < 0.0 { 0.0 } else { squares },
        }
    }
}

/// Returns whether squares of `f32`, of which this is the sum, were too large for it, or so small
/// that they have few digits or none. Those of equal elements are 0.
#[inline(always)]
fn are_beyond<T: Sums>(squares: f64, count: f64) -> bool {
    let least = count * f64::from(f32::MIN_POSITIVE);
    size_of::<T::Wide>() == size_of::<f32>() && !(least..f64::INFINITY).contains(&squares)
}

/// Returns the moments of elements whose squares are [beyond](are_beyond) `f32`.
#[cold]
#[inline(never)]
fn in_doubles<T: Sums>(x: impl Iterator<Item = T> + Clone, count: f64) -> Moments {
    let wide = x.map(|x| -> f64 { x.widen().into() });
    let first = wide.clone().next().unwrap_or_default();
    if wide.clone().all(|x| x == first) && first.is_finite() {
        return Moments::around(first, count, 0.0, 0.0);
    }
    let center = wide.clone().sum::<f64>() / count;
    let (mut distances, mut squares) = (0.0, 0.0);
    for x in wide {
        distances += x - center;
        squares += (x - center) * (x - center);
    }
    Moments::around(center, count, distances, squares)
}

/// A float type, and the type of its sums within a block.
pub(crate) trait Sums: Element {
    /// `f32` or `f64`.
    type Wide: Copy
        + Default
        + Into<f64>
        + std::ops::Add<Output = Self::Wide>
        + std::ops::Sub<Output = Self::Wide>
        + std::ops::Mul<Output = Self::Wide>;

    fn widen(self) -> Self::Wide;
    fn round(number: f64) -> Self::Wide;
}

/// Writes what a function makes of the moments along the axes for which `is_reduced` holds.
///
/// # Panics
///
/// When `out` doesn't have the dimensions of `x` that aren't reduced, or 1 instead of those that
/// are.
pub(crate) fn moments<T: Sums, R: Element>(
    x: View<'_, T>,
    out: ViewMut<'_, R>,
    is_reduced: &[bool],
    finish: impl Fn(Moments) -> R + Sync,
) {
    let types = PhantomData::<fn(T) -> R>;
    // SAFETY: it accumulates elements `T` and writes results `R`, as the views have them.
    unsafe { reduce_views(x, out, is_reduced, &Measure { finish, types }) }
}

struct Measure<T, R, Finish> {
    finish: Finish,
    types: PhantomData<fn(T) -> R>,
}

impl<T: Sums, R: Element, Finish: Fn(Moments) -> R + Sync> Accumulate for Measure<T, R, Finish> {
    fn accumulator(&self) -> usize {
        size_of::<Moments>()
    }

    unsafe fn begin(&self, accumulators: *mut u8, count: usize) {
        for at in 0..count {
            // SAFETY: there is aligned memory for `count` accumulators.
            unsafe { accumulators.cast::<Moments>().add(at).write(Moments::NONE) };
        }
    }

    unsafe fn along(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        len: usize,
        (count, step): (usize, isize),
        _: Positions,
    ) {
        // SAFETY: there are as many accumulators, which `begin` has written.
        let moments = unsafe { slice::from_raw_parts_mut(accumulators.cast::<Moments>(), count) };
        dispatch(Along::<T>(moments, x, (len, step), PhantomData));
    }

    unsafe fn across(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        count: usize,
        rows: (usize, isize),
        _: Positions,
    ) {
        // SAFETY: there are as many accumulators, which `begin` has written.
        let moments = unsafe { slice::from_raw_parts_mut(accumulators.cast::<Moments>(), count) };
        dispatch(Across::<T>(moments, x, rows, PhantomData));
    }

    unsafe fn combine(&self, accumulators: *mut u8, later: *const u8, count: usize) {
        for at in 0..count {
            // SAFETY: there are `count` of both.
            unsafe {
                let moments = accumulators.cast::<Moments>().add(at);
                *moments = (*moments).merge(*later.cast::<Moments>().add(at));
            }
        }
    }

    unsafe fn finish(&self, accumulators: *const u8, out: *mut u8, step: isize, count: usize) {
        for at in 0..count {
            // SAFETY: there are `count` accumulators, and places for as many results.
            unsafe {
                let moments = *accumulators.cast::<Moments>().add(at);
                let out = out.offset(step * at as isize).cast::<R>();
                out.write((self.finish)(moments));
            }
        }
    }
}

/// Contiguous elements of some results, each from its own address on.
struct Along<'a, T>(&'a mut [Moments], *const u8, (usize, isize), PhantomData<T>);

impl<T: Sums> Routine for Along<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(moments, x, (len, step), _) = self;
        for (at, moments) in moments.iter_mut().enumerate() {
            // SAFETY: `Accumulate::along` requires as many elements for each accumulator.
            let x = unsafe {
                let x = x.wrapping_offset(at as isize * step).cast::<T>();
                slice::from_raw_parts(x, len)
            };
            for block in x.chunks(BLOCK) {
                let count = block.len() as f64;
                let (sum, _) = sums(block, T::Wide::default());
                let center = T::round(sum / count);
                let (distances, squares) = sums(block, center);
                let of_block = match are_beyond::<T>(squares, count) {
                    true => in_doubles(block.iter().copied(), count),
                    false => Moments::around(center.into(), count, distances, squares),
                };
                *moments = moments.merge(of_block);
            }
        }
    }
}

/// Returns the sum of the distances from a center, and that of their squares.
#[inline(always)]
fn sums<T: Sums>(block: &[T], center: T::Wide) -> (f64, f64) {
    let (mut sums, mut squares) = ([T::Wide::default(); LANES], [T::Wide::default(); LANES]);
    let (chunks, rest) = block.as_chunks::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            let distance = chunk[at].widen() - center;
            sums[at] = sums[at] + distance;
            squares[at] = squares[at] + distance * distance;
        }
    }
    for (at, x) in rest.iter().enumerate() {
        let distance = x.widen() - center;
        sums[at] = sums[at] + distance;
        squares[at] = squares[at] + distance * distance;
    }
    (join(sums), join(squares))
}

#[inline(always)]
fn join<W: Copy + Into<f64>>(lanes: [W; LANES]) -> f64 {
    // A loop, as the functions of arrays stay calls where crates aren't optimized as a whole.
    let mut wide = [0.0; LANES];
    for at in 0..LANES {
        wide[at] = lanes[at].into();
    }
    const { assert!(LANES == 64, "halves are those of 64") };
    // Lengths are constants, so that these loops are unrolled and vectorised.
    add_halves::<32>(&mut wide);
    add_halves::<16>(&mut wide);
    add_halves::<8>(&mut wide);
    add_halves::<4>(&mut wide);
    add_halves::<2>(&mut wide);
    wide[0] + wide[1]
}

/// Adds to the first lanes as many lanes after them.
#[inline(always)]
fn add_halves<const HALF: usize>(lanes: &mut [f64; LANES]) {
    for at in 0..HALF {
        lanes[at] += lanes[at + HALF];
    }
}

/// Rows of contiguous elements, one for each result.
struct Across<'a, T>(&'a mut [Moments], *const u8, (usize, isize), PhantomData<T>);

impl<T: Sums> Routine for Across<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(moments, x, (rows, step), _) = self;
        let none = [T::Wide::default(); COLUMNS];
        for start in (0..rows).step_by(ROWS) {
            let some = ROWS.min(rows - start);
            let count = some as f64;
            let mut x = x.wrapping_offset(start as isize * step).cast::<T>();
            for moments in moments.chunks_mut(COLUMNS) {
                let columns = moments.len();
                let row = |at: usize| {
                    // SAFETY: `Accumulate::across` requires `rows` rows of as many elements as
                    // there are accumulators.
                    unsafe {
                        let x = x.wrapping_byte_offset(at as isize * step);
                        slice::from_raw_parts(x, columns)
                    }
                };
                let (mut sums, mut squares) = (none, none);
                for at in 0..some {
                    add_row(
                        &mut sums[..columns],
                        &mut squares[..columns],
                        &none,
                        row(at),
                    );
                }
                let mut centers = none;
                for at in 0..columns {
                    centers[at] = T::round(sums[at].into() / count);
                }
                (sums, squares) = (none, none);
                for at in 0..some {
                    add_row(
                        &mut sums[..columns],
                        &mut squares[..columns],
                        &centers,
                        row(at),
                    );
                }
                for (at, moments) in moments.iter_mut().enumerate() {
                    let (center, sum) = (centers[at].into(), sums[at].into());
                    let squares: f64 = squares[at].into();
                    let of_block = match are_beyond::<T>(squares, count) {
                        true => in_doubles((0..some).map(|of| row(of)[at]), count),
                        false => Moments::around(center, count, sum, squares),
                    };
                    *moments = moments.merge(of_block);
                }
                x = x.wrapping_add(columns);
            }
        }
    }
}

/// Adds a row's distances from centers, and their squares. As arguments of a function the slices
/// are known not to overlap.
#[inline(always)]
fn add_row<T: Sums>(
    sums: &mut [T::Wide],
    squares: &mut [T::Wide],
    centers: &[T::Wide; COLUMNS],
    row: &[T],
) {
    let (squares, row) = (&mut squares[..sums.len()], &row[..sums.len()]);
    for at in 0..sums.len().min(COLUMNS) {
        let distance = row[at].widen() - centers[at];
        sums[at] = sums[at] + distance;
        squares[at] = squares[at] + distance * distance;
    }
}
