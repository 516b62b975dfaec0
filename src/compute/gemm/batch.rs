//! Batches of products, and their division among threads.

use super::blocks;
use super::element::{FromSum, Unit};
use super::grid::Grid;
use super::operands::{Matrices, Problem, Sizes, Strided};
use super::small;
use super::vector;
use crate::compute::{Level, threads};

/// Operands that several threads use.
struct Shared<'a, T, O> {
    sizes: Sizes<'a>,
    a: Matrices<'a, *const T>,
    b: Matrices<'a, *const T>,
    out: Matrices<'a, *mut O>,
}

// SAFETY: threads read the factors, and write parts of the result that don't overlap.
unsafe impl<T: Sync, O: Send> Sync for Shared<'_, T, O> {}

/// Calculates all products of a batch.
///
/// # Safety
///
/// As for [`multiply`](super::multiply).
pub(super) unsafe fn multiply<U, T, O>(
    sizes: Sizes<'_>,
    a: Matrices<'_, *const T>,
    b: Matrices<'_, *const T>,
    out: Matrices<'_, *mut O>,
) where
    U: Unit<T>,
    T: Copy + Default + Sync,
    O: FromSum<U::Sum> + Send,
{
    let (sizes, mut a, mut b, out) = without_batch(sizes, a, b, out);
    if sizes.depth == 0 {
        // Strides of no elements lead anywhere.
        for factor in [&mut a, &mut b] {
            (factor.row, factor.column) = (0, 0);
        }
    }
    let count: usize = sizes.batch.iter().product();
    if count == 0 || sizes.rows == 0 || sizes.columns == 0 {
        return;
    }
    let shared = Shared { sizes, a, b, out };
    let work = [sizes.rows, sizes.columns, sizes.depth].into_iter();
    let work = work.fold(1_usize, |work, size| work.saturating_mul(size.max(1)));
    let tiles = U::tiles(Level::current());
    // Batches are divided before matrices are.
    let threads = if count.saturating_mul(work) < 2 * tiles.grain {
        1
    } else {
        threads::num_threads()
    };
    let most = work.div_ceil(tiles.grain).min(threads.div_ceil(count));
    let first = shared.problem(0);
    let grid = Grid::choose(
        (
            first.rows,
            tiles.run.len(),
            blocks::most_rows(O::IS_SUM && first.out_column == 1),
        ),
        (first.columns, tiles.columns),
        most,
    );
    let per_matrix = grid.count();
    let least = if threads == 1 {
        usize::MAX
    } else {
        tiles.grain / (work / per_matrix).max(1)
    };
    let parts = |range: std::ops::Range<usize>| {
        let shared = &shared;
        for part in range {
            let problem = shared.problem(part / per_matrix);
            let at = part % per_matrix;
            let rows = grid.rows.get(at / grid.columns.count);
            let columns = grid.columns.get(at % grid.columns.count);
            // SAFETY: the contract of `multiply`; no two parts have the same element.
            unsafe {
                let is_done = small::multiply::<U, T, O>(&problem, rows.clone(), columns.clone())
                    || vector::multiply::<U, T, O>(&problem, rows.clone(), columns.clone());
                if !is_done {
                    blocks::multiply::<U, T, O>(&problem, rows, columns);
                }
            }
        }
    };
    let total = count.saturating_mul(per_matrix);
    threads::for_each_range(total, least.min(total), parts);
}

/// Turns dimensions of a batch over which the second factor stays the same into rows.
fn without_batch<'a, T, O>(
    mut sizes: Sizes<'a>,
    mut a: Matrices<'a, *const T>,
    mut b: Matrices<'a, *const T>,
    mut out: Matrices<'a, *mut O>,
) -> (
    Sizes<'a>,
    Matrices<'a, *const T>,
    Matrices<'a, *const T>,
    Matrices<'a, *mut O>,
) {
    while let [batch @ .., size] = sizes.batch {
        let last = batch.len();
        let rows = sizes.rows as isize;
        let is_row = |batch: isize, row: isize| row.checked_mul(rows) == Some(batch);
        let is_rows = *size == 1
            || b.batch[last] == 0
                && is_row(a.batch[last], a.row)
                && is_row(out.batch[last], out.row);
        let Some(rows) = sizes.rows.checked_mul(*size).filter(|_| is_rows) else {
            break;
        };
        (sizes.batch, sizes.rows) = (batch, rows);
        (a.batch, b.batch, out.batch) = (&a.batch[..last], &b.batch[..last], &out.batch[..last]);
    }
    (sizes, a, b, out)
}

impl<T, O> Shared<'_, T, O> {
    /// Returns a product of the batch, by its number in row-major order: such that the columns of
    /// its result are contiguous, if its rows or columns are.
    fn problem(&self, number: usize) -> Problem<T, O> {
        let Self { sizes, a, b, out } = self;
        let (mut a_first, mut b_first, mut out_first) = (a.first, b.first, out.first);
        let mut rest = number;
        for (at, size) in sizes.batch.iter().enumerate().rev() {
            let index = (rest % size) as isize;
            rest /= size;
            a_first = a_first.wrapping_offset(index.wrapping_mul(a.batch[at]));
            b_first = b_first.wrapping_offset(index.wrapping_mul(b.batch[at]));
            out_first = out_first.wrapping_offset(index.wrapping_mul(out.batch[at]));
        }
        let a = Strided {
            first: a_first,
            outer: a.row,
            inner: a.column,
        };
        let b = Strided {
            first: b_first,
            outer: b.column,
            inner: b.row,
        };
        let is_by_columns = (out.column != 1 || sizes.columns == 1) && out.row == 1;
        if is_by_columns && sizes.rows > 1 {
            return Problem {
                rows: sizes.columns,
                columns: sizes.rows,
                depth: sizes.depth,
                a: b,
                b: a,
                out: out_first,
                out_row: out.column,
                out_column: out.row,
            };
        }
        Problem {
            rows: sizes.rows,
            columns: sizes.columns,
            depth: sizes.depth,
            a,
            b,
            out: out_first,
            out_row: out.row,
            out_column: out.column,
        }
    }
}
