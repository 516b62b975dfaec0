//! Lines of numbers as they are calculated with: `f32` for 16-bit floats.

use super::for_each_line;
use super::group::{Float, Group, Scratch};
use crate::compute::elementwise::Widen;
use crate::compute::plan::Operand;
use crate::compute::simd::{Routine, Simd, dispatch};

/// What a line of numbers as they are calculated with is for, compiled for each SIMD level.
pub(crate) trait Line<W>: Sync {
    /// Computes a line from one that is as long. What `out` holds before is not specified.
    fn compute<S: Simd>(&self, x: &[W], out: &mut [W], simd: S);

    /// Computes several lines of this length.
    #[inline(always)]
    fn compute_all<'a, S: Simd>(
        &self,
        lines: impl ExactSizeIterator<Item = (&'a [W], &'a mut [W])>,
        _len: usize,
        simd: S,
    ) where
        W: 'a,
    {
        for (x, out) in lines {
            self.compute(x, out, simd);
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
    let size = size_of::<T::Wide>();
    let body = |group: Group, scratch: &mut Scratch| {
        // SAFETY: `for_each_line` gives lines of elements `T`, which are wide ones unless they are
        // converted, and results that aren't where elements are.
        let compute = |group| dispatch(unsafe { WideLines::new(line, group) });
        if !T::CONVERTS {
            return compute(group);
        }
        let len = group.len;
        // By one address, which may be written: lines are converted to where they are read.
        let wide = scratch
            .floats::<T::Wide>(2 * group.count * len)
            .as_mut_ptr();
        let inner = Group {
            x: wide.cast_const().cast(),
            out: wide.wrapping_add(group.count * len).cast(),
            steps: [(len * size) as isize; 2],
            ..group
        };
        let (calls, at_once) = match group.is_whole(size_of::<T>(), size_of::<T>()) {
            true => (1, group.count),
            false => (group.count, 1),
        };
        // SAFETY: `for_each_line` gives lines of `len` elements, and there is memory for as many,
        // which nothing else uses.
        unsafe {
            for ((x, _), (to, _)) in group.lines().zip(inner.lines()).take(calls) {
                T::widen_all(x.cast(), to.cast_mut().cast(), at_once * len);
            }
            compute(inner);
            for ((_, out), (_, from)) in group.lines().zip(inner.lines()).take(calls) {
                T::narrow_all(from.cast(), out.cast(), at_once * len);
            }
        }
    };
    // SAFETY: it requires the same.
    unsafe { for_each_line(x, out, axis, size, &body) }
}

/// The loop over lines.
struct WideLines<'a, W, L> {
    line: &'a L,
    group: Group,
    element: std::marker::PhantomData<W>,
}

impl<'a, W, L> WideLines<'a, W, L> {
    /// Makes one of lines of wide numbers.
    ///
    /// # Safety
    ///
    /// The group's elements are valid numbers of type `W`, and so are its results, which no other
    /// code uses. No two of them are at one place.
    unsafe fn new(line: &'a L, group: Group) -> Self {
        Self {
            line,
            group,
            element: std::marker::PhantomData,
        }
    }
}

impl<W, L: Line<W>> Routine for WideLines<'_, W, L> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let group = self.group;
        // SAFETY: `new` requires lines of numbers of this type, and that results aren't where
        // elements or other results are.
        let lines = group
            .lines()
            .map(|(x, out)| unsafe { group.slices(x, out) });
        self.line.compute_all(lines, group.len, simd);
    }
}
