//! Products of small matrices, which take less time than packing them would.

use super::blocks::store;
use super::element::{FromSum, Unit};
use super::operands::Problem;
use super::vector::add_product;
use crate::compute::{Routine, Simd, dispatch};
use std::marker::PhantomData;
use std::ops::Range;

/// The most multiplications of a small product; fewer in tests, so that they see blocks, too.
const MOST: usize = if cfg!(test) { 1 << 6 } else { 1 << 12 };

/// Columns that are calculated at once.
const COLUMNS: usize = 8;

/// Calculates a part of the result, if the result is small as a whole and the second factor's rows
/// are contiguous; returns whether it is so. Parts alone don't decide, as the order of additions is
/// to be the same for any number of them.
///
/// # Safety
///
/// As for [`blocks::multiply`](super::blocks::multiply).
pub(super) unsafe fn multiply<U: Unit<T>, T: Copy, O: FromSum<U::Sum>>(
    problem: &Problem<T, O>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> bool {
    let sizes = [problem.columns, problem.depth];
    let work = sizes
        .into_iter()
        .try_fold(problem.rows, usize::checked_mul)
        .filter(|work| *work <= MOST);
    if work.is_none() || problem.b.outer != 1 {
        return false;
    }
    dispatch(Small::<U, T, O> {
        problem,
        rows,
        columns,
        unit: PhantomData,
    });
    true
}

struct Small<'a, U, T, O> {
    problem: &'a Problem<T, O>,
    rows: Range<usize>,
    columns: Range<usize>,
    unit: PhantomData<U>,
}

impl<U: Unit<T>, T: Copy, O: FromSum<U::Sum>> Routine for Small<'_, U, T, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Problem { depth, a, b, .. } = *self.problem;
        for row in self.rows {
            // SAFETY: the contract of `multiply`: the factors have `depth` elements for each row
            // and column, of which those of a row of the second one are contiguous, and there is
            // room for the results.
            unsafe {
                let a_at = |k: usize| {
                    let lane = a.first.offset(row as isize * a.outer);
                    U::widen(*lane.offset(k as isize * a.inner))
                };
                let b_at = |k: usize, column: usize| {
                    U::widen(*b.first.offset(k as isize * b.inner).add(column))
                };
                let out = |column: usize| {
                    let row = self.problem.out.offset(row as isize * self.problem.out_row);
                    row.offset(column as isize * self.problem.out_column)
                };
                let mut column = self.columns.start;
                while column + COLUMNS <= self.columns.end {
                    let mut sums = [U::Sum::default(); COLUMNS];
                    for k in 0..depth {
                        let factor = a_at(k);
                        for (at, sum) in sums.iter_mut().enumerate() {
                            *sum = add_product::<S, _>(*sum, b_at(k, column + at), factor);
                        }
                    }
                    store(&sums, out(column), self.problem.out_column);
                    column += COLUMNS;
                }
                for column in column..self.columns.end {
                    let mut sum = U::Sum::default();
                    for k in 0..depth {
                        sum = add_product::<S, _>(sum, b_at(k, column), a_at(k));
                    }
                    store(&[sum], out(column), self.problem.out_column);
                }
            }
        }
    }
}
