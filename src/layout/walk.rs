//! Visiting the elements of two layouts in step, and those of one line by line.

#[cfg(feature = "ops")]
use super::Run;
use super::{Layout, LayoutRef};

/// Visits the elements of two layouts, of which there are as many, in logical order: pieces that
/// are a run of the one and a run of the other.
#[cfg(feature = "ops")]
#[inline]
pub(crate) fn in_step(ours: LayoutRef<'_>, theirs: LayoutRef<'_>, mut visit: impl FnMut(Run, Run)) {
    debug_assert_eq!(ours.len(), theirs.len());
    if theirs.is_contiguous() {
        // Most often, and then there is less to count.
        let mut offset = 0;
        for our_run in ours.runs() {
            let (len, step) = (our_run.len, 1);
            visit(our_run, Run { offset, len, step });
            offset += len as isize;
        }
        return;
    }
    let mut their_runs = theirs.runs();
    let Some(mut their_run) = their_runs.next() else {
        return;
    };
    for mut our_run in ours.runs() {
        while our_run.len > 0 {
            if their_run.len == 0 {
                match their_runs.next() {
                    Some(next) => their_run = next,
                    None => return,
                }
            }
            let len = our_run.len.min(their_run.len);
            visit(our_run.take(len), their_run.take(len));
        }
    }
}

#[cfg(feature = "ops")]
impl Run {
    /// Removes a number of elements from the beginning.
    #[inline]
    fn take(&mut self, len: usize) -> Self {
        let taken = Self { len, ..*self };
        // Behind the last element there may be no such offset, which then isn't used.
        let distance = self.step.wrapping_mul(len as isize);
        self.offset = self.offset.wrapping_add(distance);
        self.len -= len;
        taken
    }
}

impl<'a> LayoutRef<'a> {
    /// Returns that of a line of adjacent elements, as many as the only size.
    #[cfg(feature = "kernels")]
    pub(crate) fn line(shape: &'a [usize]) -> Self {
        Self {
            shape,
            strides: &[1],
            len: shape[0],
            contiguous: true,
        }
    }

    /// Returns the elements along a dimension, as a layout of their own, and where such a line
    /// begins for each index of the other dimensions, in logical order. Without elements there are
    /// no lines.
    ///
    /// # Panics
    ///
    /// When there is no such dimension.
    pub(crate) fn lines(self, axis: usize) -> (Self, impl Iterator<Item = isize> + use<>) {
        let (size, stride) = (self.shape[axis], self.strides[axis]);
        let line = Self {
            shape: &self.shape[axis..=axis],
            strides: &self.strides[axis..=axis],
            len: size,
            contiguous: size < 2 || stride == 1,
        };
        let around = match self.is_empty() {
            true => Layout::contiguous(&[0]),
            false => self.to_owned().without(axis),
        };
        let around = around.expect("fewer dimensions of a layout that was checked");
        let begins = around
            .as_ref()
            .runs()
            .flat_map(|run| (0..run.len as isize).map(move |at| run.offset + at * run.step));
        (line, begins)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "ops")]
    use super::*;
    use crate::layout::Layout;

    fn strided(shape: &[usize], strides: &[isize]) -> Layout {
        Layout::strided(shape, strides).unwrap()
    }

    #[cfg(feature = "ops")]
    fn both(ours: &Layout, theirs: &Layout) -> Vec<[(isize, usize, isize); 2]> {
        let facts = |run: Run| (run.offset, run.len, run.step);
        let mut pieces = Vec::new();
        in_step(ours.as_ref(), theirs.as_ref(), |ours, theirs| {
            pieces.push([facts(ours), facts(theirs)]);
        });
        pieces
    }

    #[cfg(feature = "ops")]
    #[test]
    fn pieces_are_runs_of_both_layouts() {
        let dense = strided(&[2, 3], &[3, 1]);
        assert_eq!(both(&dense, &dense), [[(0, 6, 1), (0, 6, 1)]]);
        let padded = strided(&[2, 3], &[4, 1]);
        assert_eq!(
            both(&dense, &padded),
            [[(0, 3, 1), (0, 3, 1)], [(3, 3, 1), (4, 3, 1)]]
        );
        assert_eq!(
            both(&padded, &dense),
            [[(0, 3, 1), (0, 3, 1)], [(4, 3, 1), (3, 3, 1)]]
        );
        assert_eq!(
            both(&padded, &padded),
            [[(0, 3, 1), (0, 3, 1)], [(4, 3, 1), (4, 3, 1)]]
        );
        // Of lengths that don't divide each other.
        let (twos, threes) = (strided(&[3, 2], &[5, 1]), strided(&[2, 3], &[-7, 2]));
        assert_eq!(
            both(&twos, &threes),
            [
                [(0, 2, 1), (0, 2, 2)],
                [(5, 1, 1), (4, 1, 2)],
                [(6, 1, 1), (-7, 1, 2)],
                [(10, 2, 1), (-5, 2, 2)]
            ]
        );
        let nothing = strided(&[0, 3], &[1, 1]);
        assert!(both(&nothing, &nothing).is_empty());
    }

    #[test]
    fn lines_begin_at_each_index_of_the_other_dimensions() {
        let lines = |layout: &Layout, axis| {
            let (line, begins) = layout.as_ref().lines(axis);
            let facts = (line.shape()[0], line.strides()[0], line.is_contiguous());
            assert_eq!((line.rank(), line.len()), (1, facts.0));
            (facts, begins.collect::<Vec<_>>())
        };
        let layout = strided(&[2, 3, 2], &[6, -2, 1]);
        assert_eq!(
            lines(&layout, 0),
            ((2, 6, false), vec![0, 1, -2, -1, -4, -3])
        );
        assert_eq!(lines(&layout, 1), ((3, -2, false), vec![0, 1, 6, 7]));
        let along_last = ((2, 1, true), vec![0, -2, -4, 6, 4, 2]);
        assert_eq!(lines(&layout, 2), along_last);
        assert_eq!(lines(&strided(&[4], &[-3]), 0), ((4, -3, false), vec![0]));
        assert_eq!(lines(&strided(&[1], &[9]), 0), ((1, 9, true), vec![0]));
        // The strides of empty ones say nothing.
        let far = isize::MAX;
        for (shape, axis, size) in [([0, 3], 0, 0), ([0, 3], 1, 3), ([3, 0], 1, 0)] {
            let (facts, begins) = lines(&strided(&shape, &[far, far]), axis);
            assert_eq!((facts.0, begins), (size, vec![]));
        }
    }
}
