//! Visiting elements in logical order, a run of equally spaced ones at a time.

use super::{INLINE_RANK, LayoutRef};

/// Equally spaced elements that follow each other in logical order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Offset of the first one, in elements from index 0.
    pub(crate) offset: isize,
    /// How many there are.
    pub(crate) len: usize,
    /// How far apart they are, counted in elements.
    pub(crate) step: isize,
}

/// The runs that a layout consists of: a single one where it is dense.
pub(crate) struct Runs {
    /// Start of the next run, and the length of all runs.
    next: Run,
    /// How many runs are left.
    left: usize,
    /// How far apart they begin, where that is always the same.
    distance: isize,
    /// The dimensions around the runs, where it isn't. Not inline: iterators are moved around, and
    /// those over dense elements shouldn't be larger than they need to be.
    outer: Option<Box<Merged>>,
}

impl LayoutRef<'_> {
    /// Returns the elements in logical order, as the fewest runs.
    #[inline]
    pub(crate) fn runs(self) -> Runs {
        if self.is_contiguous() {
            return Runs {
                next: Run {
                    offset: 0,
                    len: self.len(),
                    step: 1,
                },
                left: usize::from(!self.is_empty()),
                distance: 0,
                outer: None,
            };
        }
        self.evenly_spaced_runs()
            .unwrap_or_else(|| self.several_runs())
    }

    /// Returns the runs of what is, or could be, two dimensions: most of what isn't dense.
    #[inline]
    fn evenly_spaced_runs(self) -> Option<Runs> {
        let mut dims = self.dims().rev().filter(|(size, _)| *size != 1);
        let (mut len, step) = dims.next()?;
        let (mut left, mut distance) = (1, 0);
        for (size, stride) in dims {
            let follows =
                |count: usize, step: isize| step.checked_mul(count as isize) == Some(stride);
            if left == 1 && follows(len, step) {
                len *= size;
            } else if left == 1 {
                (left, distance) = (size, stride);
            } else if follows(left, distance) {
                left *= size;
            } else {
                return None;
            }
        }
        Some(Runs {
            next: Run {
                offset: 0,
                len,
                step,
            },
            left,
            distance,
            outer: None,
        })
    }

    fn several_runs(self) -> Runs {
        let mut outer = self.merged();
        let (len, step) = outer.pop().unwrap_or((1, 1));
        Runs {
            next: Run {
                offset: 0,
                len,
                step,
            },
            left: self.len() / len,
            distance: 0,
            outer: Some(Box::new(outer)),
        }
    }

    /// Returns the same elements in the same order with as few dimensions as can be: those of size
    /// 1 left out, those that continue each other merged.
    pub(super) fn merged(self) -> Merged {
        debug_assert!(!self.is_empty());
        let mut merged = Merged::default();
        for (size, stride) in self.dims() {
            if size == 1 {
                continue;
            }
            match merged.pop() {
                None => {}
                // The outer dimension's step is one whole run of this one.
                Some((outer, step)) if stride.checked_mul(size as isize) == Some(step) => {
                    merged.push((outer * size, stride));
                    continue;
                }
                Some(other) => merged.push(other),
            }
            merged.push((size, stride));
        }
        merged
    }
}

impl Iterator for Runs {
    type Item = Run;

    #[inline]
    fn next(&mut self) -> Option<Run> {
        self.left = self.left.checked_sub(1)?;
        let run = self.next;
        let Some(outer) = &mut self.outer else {
            // Behind the last run there may be no such offset, which then isn't used.
            self.next.offset = self.next.offset.wrapping_add(self.distance);
            return Some(run);
        };
        for dim in outer.slice_mut().iter_mut().rev() {
            dim.index += 1;
            if dim.index < dim.size {
                self.next.offset += dim.stride;
                break;
            }
            // Back to the beginning of this dimension, and on along the next outer one.
            dim.index = 0;
            self.next.offset -= (dim.size as isize - 1) * dim.stride;
        }
        Some(run)
    }
}

/// A few dimensions, outermost first, without an allocation up to the usual ranks.
#[derive(Default)]
pub(crate) struct Merged {
    len: usize,
    inline: [Dim; INLINE_RANK],
    /// All of them, once they were more than fit inline.
    heap: Vec<Dim>,
}

#[derive(Default, Clone, Copy)]
struct Dim {
    size: usize,
    stride: isize,
    /// Index of the next run along it.
    index: usize,
}

impl Merged {
    fn push(&mut self, (size, stride): (usize, isize)) {
        let dim = Dim {
            size,
            stride,
            index: 0,
        };
        if self.len == INLINE_RANK && self.heap.is_empty() {
            self.heap.extend(self.inline);
        }
        if self.heap.is_empty() {
            self.inline[self.len] = dim;
        } else {
            self.heap.push(dim);
        }
        self.len += 1;
    }

    /// Removes the innermost dimension, and returns its size and stride.
    pub(super) fn pop(&mut self) -> Option<(usize, isize)> {
        let Dim { size, stride, .. } = *self.slice_mut().last()?;
        self.heap.pop();
        if self.heap.len() == INLINE_RANK {
            self.inline.copy_from_slice(&self.heap);
            self.heap.clear();
        }
        self.len -= 1;
        Some((size, stride))
    }

    fn slice_mut(&mut self) -> &mut [Dim] {
        if self.heap.is_empty() {
            &mut self.inline[..self.len]
        } else {
            &mut self.heap
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layout::Layout;

    fn runs(shape: &[usize], strides: &[isize]) -> Vec<(isize, usize, isize)> {
        let layout = Layout::strided(shape, strides).unwrap();
        let runs = layout.as_ref().runs();
        runs.map(|run| (run.offset, run.len, run.step)).collect()
    }

    #[test]
    fn dense_layouts_are_one_run() {
        assert_eq!(runs(&[], &[]), [(0, 1, 1)]);
        assert_eq!(runs(&[2, 3, 4], &[12, 4, 1]), [(0, 24, 1)]);
        assert_eq!(runs(&[2, 1, 4], &[4, 99, 1]), [(0, 8, 1)]);
        assert_eq!(runs(&[1, 1], &[7, 7]), [(0, 1, 1)]);
        assert_eq!(runs(&[0, 3], &[3, 1]), []);
    }

    #[test]
    fn other_layouts_have_the_fewest_runs() {
        assert_eq!(runs(&[2, 3], &[4, 1]), [(0, 3, 1), (4, 3, 1)]);
        assert_eq!(runs(&[3, 2], &[1, 3]), [(0, 2, 3), (1, 2, 3), (2, 2, 3)]);
        assert_eq!(runs(&[2, 2], &[-4, -2]), [(0, 4, -2)]);
        assert_eq!(
            runs(&[2, 2, 2], &[8, 4, 1]),
            [(0, 2, 1), (4, 2, 1), (8, 2, 1), (12, 2, 1)]
        );
        assert_eq!(runs(&[3], &[0]), [(0, 3, 0)]);
    }

    #[test]
    fn dimensions_that_are_not_adjacent_are_not_merged() {
        let shape = [2; 10];
        let strides: Vec<isize> = (0..10).map(|axis| 3_isize.pow(9 - axis)).collect();
        let found = runs(&shape, &strides);
        assert_eq!(found.len(), 512);
        assert_eq!((found[0], found[1]), ((0, 2, 1), (3, 2, 1)));
        assert_eq!(found[511].0, strides[..9].iter().sum::<isize>());
    }
}
