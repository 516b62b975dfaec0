//! Products of a matrix and a vector, which read the matrix once and take as long as that.

use super::blocks::store;
use super::dots;
use super::element::{FromSum, Unit};
use super::lanes::portable::Multiply;
use super::operands::{Problem, Strided};
use crate::compute::{Level, Routine, Simd, dispatch};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements of the result whose sums lie on the stack, for multiples.
const BLOCK: usize = 4096;
/// The same for dot products.
const RESULTS: usize = 64;
/// Units of the vector that lie on the stack: rows are read in parts of as many, which are long for
/// the sake of the CPU's prefetching.
const UNITS: usize = 4096;
/// Units that rows are converted to at a time, where they aren't units as they are.
const CONVERTED: usize = 512;

/// Calculates a part of the result, if one factor is a vector and the other is contiguous; returns
/// whether it is so.
///
/// # Safety
///
/// As for [`blocks::multiply`](super::blocks::multiply).
pub(super) unsafe fn multiply<U: Unit<T>, T: Copy, O: FromSum<U::Sum>>(
    problem: &Problem<T, O>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> bool {
    let (matrix, vector, results, out, stride) = if problem.rows == 1 {
        (
            problem.b,
            problem.a,
            columns,
            problem.out,
            problem.out_column,
        )
    } else if problem.columns == 1 {
        (problem.a, problem.b, rows, problem.out, problem.out_row)
    } else {
        return false;
    };
    if U::tiles(Level::current()).dots.is_none() {
        return false;
    }
    let product = Product::<U, T, O> {
        matrix,
        vector: (vector.first, vector.inner),
        results,
        depth: problem.depth,
        out,
        stride,
        unit: std::marker::PhantomData,
    };
    if matrix.inner == 1 {
        dispatch(Dots(product));
    } else if matrix.outer == 1 {
        dispatch(Multiples(product));
    } else {
        return false;
    }
    true
}

/// A product of a matrix and a vector, whose elements are in memory.
struct Product<U, T, O> {
    matrix: Strided<T>,
    /// The vector's first element, and its stride.
    vector: (*const T, isize),
    results: Range<usize>,
    depth: usize,
    out: *mut O,
    stride: isize,
    unit: std::marker::PhantomData<U>,
}

/// Adds a product to a sum, by an instruction for that where the level has one.
#[inline(always)]
pub(super) fn add_product<S: Simd, N: Multiply<Sum = N>>(sum: N, a: N, b: N) -> N {
    if S::LEVEL >= Level::Avx2 {
        N::fused_add_product(sum, a, b)
    } else {
        N::add_product(sum, a, b)
    }
}

/// Sums over contiguous elements, for some results after others.
struct Dots<U, T, O>(Product<U, T, O>);

impl<U: Unit<T>, T: Copy, O: FromSum<U::Sum>> Routine for Dots<U, T, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(product) = self;
        let Some((run, lanes)) = U::tiles(Level::current()).dots else {
            return; // `multiply` takes no such units.
        };
        let mut vector = [MaybeUninit::<U>::uninit(); UNITS];
        let mut converted = [[MaybeUninit::<U>::uninit(); CONVERTED]; dots::ROWS];
        let most = U::GROUP * if U::IS_GROUP { UNITS } else { CONVERTED };
        let (first, stride) = product.vector;
        for block in product.results.clone().step_by(RESULTS) {
            let results = block..product.results.end.min(block + RESULTS);
            let mut all = [U::Sum::default(); RESULTS];
            for depth in (0..product.depth).step_by(most) {
                let len = most.min(product.depth - depth);
                // Units that fill registers; what is left of the elements is added one by one.
                let units = len / U::GROUP / lanes * lanes;
                // SAFETY: the contract of `multiply`: the vector has `depth` elements, and the
                // matrix a row of as many contiguous ones for each result; units whose elements lie
                // like that may be read where they are.
                unsafe {
                    let vector_at = |at: usize| *first.offset((depth + at) as isize * stride);
                    for (at, unit) in vector[..units].iter_mut().enumerate() {
                        unit.write(U::from_row_group(|next| vector_at(at * U::GROUP + next)));
                    }
                    let row = |at: usize| {
                        let lane = at as isize * product.matrix.outer;
                        product.matrix.first.offset(lane).add(depth)
                    };
                    for begin in results.clone().step_by(dots::ROWS) {
                        let count = dots::ROWS.min(results.end - begin);
                        let mut rows = [std::ptr::null(); dots::ROWS];
                        for at in 0..count {
                            let row = row(begin + at);
                            if U::IS_GROUP {
                                rows[at] = row.cast();
                                continue;
                            }
                            for (at, unit) in converted[at][..units].iter_mut().enumerate() {
                                unit.write(U::from_group(|next| *row.add(at * U::GROUP + next)));
                            }
                            rows[at] = converted[at].as_ptr().cast();
                        }
                        let sums = run(units, vector.as_ptr().cast(), &rows[..count]);
                        for at in 0..count {
                            let row = row(begin + at);
                            let mut sum = sums[at];
                            for at in units * U::GROUP..len {
                                let (x, y) = (U::widen(*row.add(at)), U::widen(vector_at(at)));
                                sum = U::Sum::add_product(sum, x, y);
                            }
                            let known = &mut all[begin - block + at];
                            *known = U::Sum::add(*known, sum);
                        }
                    }
                }
            }
            // SAFETY: the contract of `multiply`: there is room for these results.
            unsafe {
                let out = product.out.offset(block as isize * product.stride);
                store(&all[..results.len()], out, product.stride);
            }
        }
    }
}

/// Sums of multiples of contiguous elements, for many results at once.
struct Multiples<U, T, O>(Product<U, T, O>);

impl<U: Unit<T>, T: Copy, O: FromSum<U::Sum>> Routine for Multiples<U, T, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        const STEPS: usize = 4;
        let Self(product) = self;
        let Range { start, end } = product.results;
        let mut first = start;
        while first < end {
            let count = BLOCK.min(end - first);
            let mut room = [MaybeUninit::uninit(); BLOCK];
            room[..count].fill(MaybeUninit::new(U::Sum::default()));
            // SAFETY: these were just written.
            let sums: &mut [U::Sum] =
                unsafe { std::slice::from_raw_parts_mut(room.as_mut_ptr().cast(), count) };
            // SAFETY: the contract of `multiply`: the vector has `depth` elements, the matrix for
            // each of them one for each result, which are contiguous.
            let step = |depth: usize| unsafe {
                let (vector, stride) = product.vector;
                let row = product.matrix.first.add(first);
                let row = row.offset(depth as isize * product.matrix.inner);
                let factor = U::widen(*vector.offset(depth as isize * stride));
                (factor, std::slice::from_raw_parts(row, count))
            };
            let mut depth = 0;
            while depth + STEPS <= product.depth {
                let [(a, x), (b, y), (c, z), (d, w)] = [
                    step(depth),
                    step(depth + 1),
                    step(depth + 2),
                    step(depth + 3),
                ];
                for (at, sum) in sums.iter_mut().enumerate() {
                    let mut new = add_product::<S, _>(*sum, U::widen(x[at]), a);
                    new = add_product::<S, _>(new, U::widen(y[at]), b);
                    new = add_product::<S, _>(new, U::widen(z[at]), c);
                    *sum = add_product::<S, _>(new, U::widen(w[at]), d);
                }
                depth += STEPS;
            }
            while depth < product.depth {
                let (factor, row) = step(depth);
                for (sum, x) in sums.iter_mut().zip(row) {
                    *sum = add_product::<S, _>(*sum, U::widen(*x), factor);
                }
                depth += 1;
            }
            // SAFETY: the contract of `multiply`: there is room for these results.
            unsafe {
                let out = product.out.offset(first as isize * product.stride);
                store(sums, out, product.stride);
            }
            first += count;
        }
    }
}
