//! Lines of numbers as they are calculated with: `f32` for 16-bit floats.

use super::{Float, Group, Scratch, for_each_line};
use crate::compute::elementwise::Widen;
use crate::compute::plan::Operand;
use crate::compute::simd::{Routine, Simd, dispatch};

/// What a line of numbers as they are calculated with is for, compiled for each SIMD level.
pub(crate) trait Line<W>: Sync {
    /// Computes a line. `values` is memory for as many numbers as it has.
    ///
    /// # Safety
    ///
    /// There are as many valid numbers at `x`, and places for as many at `out`, which no other code
    /// uses; both are in the same place or don't overlap.
    unsafe fn compute<S: Simd>(&self, x: *const W, out: *mut W, values: &mut [W], simd: S);

    /// Computes several lines.
    ///
    /// # Safety
    ///
    /// Each is as [`compute`](Self::compute) requires it, and none is where another one is.
    #[inline(always)]
    unsafe fn compute_all<S: Simd>(
        &self,
        lines: impl Iterator<Item = (*const W, *mut W)>,
        values: &mut [W],
        simd: S,
    ) {
        for (x, out) in lines {
            // SAFETY: the caller promises it of each line.
            unsafe { self.compute(x, out, values, simd) };
        }
    }
}

/// [`for_each_line`] of numbers as they are calculated with: lines of 16-bit floats are converted to
/// `f32` before, and back from it.
///
/// # Safety
///
/// As for [`for_each_line`], of elements `T`.
pub(crate) unsafe fn for_each_wide_line<T: Widen<Wide: Float>>(
    x: Operand<'_>,
    out: Operand<'_>,
    axis: usize,
    line: &impl Line<T::Wide>,
) {
    let body = |group: Group, scratch: &mut Scratch| {
        let len = group.len;
        if !T::CONVERTS {
            let values = scratch.floats(len);
            return dispatch(WideLines {
                line,
                group,
                values,
            });
        }
        let both = scratch.floats::<T::Wide>((group.count + 1) * len);
        let (values, wide) = both.split_at_mut(len);
        let wide = wide.as_mut_ptr();
        let step = (len * size_of::<T::Wide>()) as isize;
        let inner = Group {
            x: wide.cast(),
            out: wide.cast(),
            steps: [step; 2],
            ..group
        };
        let is_whole = group.is_whole(size_of::<T>(), size_of::<T>());
        let (calls, at_once) = if is_whole {
            (1, group.count)
        } else {
            (group.count, 1)
        };
        // SAFETY: `for_each_line` gives lines of `len` elements, and there is memory for as many,
        // which nothing else uses.
        unsafe {
            for ((x, _), (_, to)) in group.lines().zip(inner.lines()).take(calls) {
                T::widen_all(x.cast(), to.cast(), at_once * len);
            }
            dispatch(WideLines {
                line,
                group: inner,
                values,
            });
            for ((_, out), (from, _)) in group.lines().zip(inner.lines()).take(calls) {
                T::narrow_all(from.cast(), out.cast(), at_once * len);
            }
        }
    };
    // SAFETY: it requires the same.
    unsafe { for_each_line(x, out, axis, &body) }
}

/// The loop over lines.
struct WideLines<'a, W, L> {
    line: &'a L,
    group: Group,
    values: &'a mut [W],
}

impl<W, L: Line<W>> Routine for WideLines<'_, W, L> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let lines = self.group.lines().map(|(x, out)| (x.cast(), out.cast()));
        // SAFETY: `for_each_line` gives lines of as many numbers as there are values, each of which
        // has a place of its own in `x` and in `out`; these are the same or don't overlap.
        unsafe { self.line.compute_all(lines, self.values, simd) };
    }
}
