//! What can be asked of a layout.

use super::{INLINE_RANK, LayoutRef};
use crate::dtype::DType;
use std::ops::Range;

impl<'a> LayoutRef<'a> {
    /// Whether the elements lie one after another in row-major (C) order.
    pub fn is_contiguous(self) -> bool {
        self.is_empty() || dense_in_order(self.dims().rev())
    }

    /// Whether the elements lie one after another in column-major (Fortran) order.
    pub fn is_f_contiguous(self) -> bool {
        self.is_empty() || dense_in_order(self.dims())
    }

    /// Whether the elements lie one after another in any order of the dimensions, each forwards:
    /// no gaps, none twice.
    pub fn is_dense(self) -> bool {
        if self.is_empty() {
            return true;
        }
        let dims = || self.dims().filter(|(size, _)| *size > 1);
        // A bubble of the few dimensions there are: the next one must begin where the last ended.
        let mut step = 1;
        for _ in 0..dims().count() {
            match dims().find(|(_, stride)| *stride == step) {
                Some((size, _)) => step *= size as isize,
                None => return false,
            }
        }
        true
    }

    /// The bytes that the elements touch, relative to the element of index 0; `None` where there
    /// are none.
    ///
    /// # Panics
    ///
    /// When [`check_memory`](Self::check_memory) refuses the element type.
    pub fn byte_span(self, dtype: DType, padded: bool) -> Option<Range<isize>> {
        if self.is_empty() {
            return None;
        }
        let (begin, end) = self
            .bit_extent(dtype, padded)
            .expect("an element type for which the layout was checked");
        Some(begin.div_euclid(8)..end.div_euclid(8) + isize::from(end.rem_euclid(8) != 0))
    }

    /// Sizes and strides, dimension by dimension.
    pub(crate) fn dims(
        self,
    ) -> impl DoubleEndedIterator<Item = (usize, isize)> + ExactSizeIterator + 'a {
        self.shape()
            .iter()
            .copied()
            .zip(self.strides().iter().copied())
    }

    /// The same elements in the same order with as few dimensions as can be: those of size 1 left
    /// out, those that continue each other merged. The innermost dimension comes last.
    ///
    /// The second array element is the stride. An empty layout has no meaning here.
    pub(crate) fn merged(self) -> Merged {
        debug_assert!(!self.is_empty());
        let mut merged = Merged::default();
        for (size, stride) in self.dims() {
            if size == 1 {
                continue;
            }
            match merged.last_mut() {
                // The outer dimension's step is one whole run of the inner dimension.
                Some((outer_size, outer_stride))
                    if stride.checked_mul(size as isize) == Some(*outer_stride) =>
                {
                    *outer_size *= size;
                    *outer_stride = stride;
                }
                _ => merged.push((size, stride)),
            }
        }
        merged
    }
}

/// Whether dimensions, innermost first, continue each other from a step of 1 on.
fn dense_in_order(dims: impl Iterator<Item = (usize, isize)>) -> bool {
    let mut step = 1_isize;
    for (size, stride) in dims {
        if size != 1 {
            if stride != step {
                return false;
            }
            // No overflow: part of the product that is the number of elements.
            step *= size as isize;
        }
    }
    true
}

/// A short list of sizes and strides, without an allocation up to the usual ranks.
#[derive(Default)]
pub(crate) struct Merged {
    len: usize,
    inline: [(usize, isize); INLINE_RANK],
    rest: Vec<(usize, isize)>,
}

impl Merged {
    fn push(&mut self, dim: (usize, isize)) {
        if self.len < INLINE_RANK {
            self.inline[self.len] = dim;
        } else {
            if self.rest.is_empty() {
                self.rest.extend(self.inline);
            }
            self.rest.push(dim);
        }
        self.len += 1;
    }

    fn last_mut(&mut self) -> Option<&mut (usize, isize)> {
        if self.len > INLINE_RANK {
            self.rest.last_mut()
        } else {
            self.inline[..self.len].last_mut()
        }
    }
}

impl std::ops::Deref for Merged {
    type Target = [(usize, isize)];

    fn deref(&self) -> &Self::Target {
        if self.len > INLINE_RANK {
            &self.rest
        } else {
            &self.inline[..self.len]
        }
    }
}
