//! Functions of lines of floats: `softmax` and norms.

use super::lanes::LANES;
use super::number::{Float, Number};
use crate::compute::Simd;
use crate::compute::lines::{self, Line, Scratch};
use crate::kernel::{Source, Target};

/// A function of lines of floats, calculated with as [`Widen`](crate::compute::elementwise::Widen)
/// says.
pub(super) trait OfLines<T: Float>: Sync {
    /// Computes a line from one that is as long, by rows of it. What `out` holds before is not
    /// specified.
    fn compute<S: Simd>(&self, x: &[T], out: &mut [T], scratch: &mut Scratch, simd: S);

    /// Computes several short lines, which are columns of rows, to the same bits.
    fn compute_across(&self, rows: &mut [[T::Wide; LANES]]);

    /// Computes several lines.
    #[inline(always)]
    fn compute_all<'a, S: Simd>(
        &self,
        lines: impl Iterator<Item = (&'a [T], &'a mut [T])>,
        scratch: &mut Scratch,
        simd: S,
    ) {
        for (x, out) in lines {
            self.compute(x, out, scratch, simd);
        }
    }
}

/// Computes each line of a tensor along an axis.
pub(super) fn compute_lines<T: Float>(
    x: Source<'_, T>,
    out: Target<'_, T>,
    axis: usize,
    function: &impl OfLines<T>,
) {
    let line = ByLength(function);
    // SAFETY: sources and targets lead to valid elements of the same shape, and the frame checked
    // that they are exactly in the same place or don't overlap.
    unsafe { lines::for_each_line_of::<T>(x.operand(), out.operand(), axis, &line) };
}

struct ByLength<'a, F>(&'a F);

impl<T: Float, F: OfLines<T>> Line<T> for ByLength<'_, F> {
    #[inline(always)]
    fn compute_all<'a, S: Simd>(
        &self,
        lines: impl ExactSizeIterator<Item = (&'a [T], &'a mut [T])>,
        len: usize,
        scratch: &mut Scratch,
        simd: S,
    ) where
        T: 'a,
    {
        match is_across(lines.len(), len) {
            true => for_each_across(lines, simd, |rows| self.0.compute_across(rows)),
            false => self.0.compute_all(lines, scratch, simd),
        }
    }
}

/// Returns whether vectors hold numbers of different lines, rather than of one: there are more
/// lines than a line has elements, and these don't fill a row.
#[inline(always)]
fn is_across(lines: usize, len: usize) -> bool {
    len < LANES && len < lines
}

/// Calls a function with some lines at a time, in columns of rows that it changes to the results:
/// lines of one length, for which [`is_across`] holds.
#[inline(always)]
fn for_each_across<'a, S: Simd, T: Float + 'a>(
    mut lines: impl Iterator<Item = (&'a [T], &'a mut [T])>,
    _: S,
    function: impl Fn(&mut [[T::Wide; LANES]]),
) {
    let mut rows = [[T::LOWEST; LANES]; LANES];
    let mut wide = [[T::Wide::LOWEST; LANES]; LANES];
    loop {
        let mut results: [&mut [T]; LANES] = std::array::from_fn(|_| Default::default());
        let (mut count, mut len) = (0, 0);
        for (x, out) in lines.by_ref().take(LANES) {
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
        let rows = &mut rows[..len];
        // Called at one place, so that it is inlined and compiled for the level.
        function(match T::as_wide_mut(rows.as_flattened_mut()) {
            Some(rows) => rows.as_chunks_mut().0,
            None => {
                for (wide, row) in wide.iter_mut().zip(&*rows) {
                    *wide = T::widen_chunk::<S, LANES>(row);
                }
                &mut wide[..len]
            }
        });
        if T::CONVERTS {
            for (wide, row) in wide.iter().zip(&mut *rows) {
                *row = T::narrow_chunk::<S, LANES>(wide);
            }
        }
        for (at, out) in results.iter_mut().enumerate().take(count) {
            for (out, row) in out.iter_mut().zip(&*rows) {
                *out = row[at];
            }
        }
    }
}
