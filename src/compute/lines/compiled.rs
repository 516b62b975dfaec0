//! Lines whose functions are compiled for each SIMD level.

use super::for_each_line;
use super::group::{Group, Scratch};
use crate::compute::plan::Operand;
use crate::compute::simd::{Routine, Simd, dispatch};
use crate::dtype::Element;

/// What lines are for, compiled for each SIMD level.
pub(crate) trait Line<T>: Sync {
    /// Computes lines of `len` elements from as many. What their results hold before is not
    /// specified.
    fn compute_all<'a, S: Simd>(
        &self,
        lines: impl ExactSizeIterator<Item = (&'a [T], &'a mut [T])>,
        len: usize,
        scratch: &mut Scratch,
        simd: S,
    ) where
        T: 'a;
}

/// [`for_each_line`] of elements `T`.
///
/// # Safety
///
/// As for [`for_each_line`].
pub(crate) unsafe fn for_each_line_of<T: Element>(
    x: Operand<'_>,
    out: Operand<'_>,
    axis: usize,
    line: &impl Line<T>,
) {
    let body = |group: Group, scratch: &mut Scratch| {
        // SAFETY: `for_each_line` gives lines of elements `T`, and results that aren't where
        // elements are.
        dispatch(unsafe { LinesOf::new(line, group, scratch) });
    };
    // SAFETY: it requires the same.
    unsafe { for_each_line(x, out, axis, &body) }
}

/// The loop over lines.
struct LinesOf<'a, T, L> {
    line: &'a L,
    group: Group,
    scratch: &'a mut Scratch,
    element: std::marker::PhantomData<T>,
}

impl<'a, T, L> LinesOf<'a, T, L> {
    /// Makes one of lines of numbers.
    ///
    /// # Safety
    ///
    /// The group's elements are valid numbers of type `T`, and so are its results, which no other
    /// code uses. No two of them are at one place.
    unsafe fn new(line: &'a L, group: Group, scratch: &'a mut Scratch) -> Self {
        Self {
            line,
            group,
            scratch,
            element: std::marker::PhantomData,
        }
    }
}

impl<T: Element, L: Line<T>> Routine for LinesOf<'_, T, L> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let group = self.group;
        // SAFETY: `new` requires lines of numbers of this type, and that results aren't where
        // elements or other results are.
        let lines = group
            .lines()
            .map(|(x, out)| unsafe { group.slices(x, out) });
        self.line.compute_all(lines, group.len, self.scratch, simd);
    }
}
