//! Queries of a layout: contiguity, density, dimensions.

use super::LayoutRef;

impl<'a> LayoutRef<'a> {
    /// Returns a part of a layout that was checked: fewer indices, the dimensions in any order.
    #[inline]
    pub(crate) fn of_part(shape: &'a [usize], strides: &'a [isize]) -> Self {
        let len = shape.iter().product();
        let mut part = Self {
            shape,
            strides,
            len,
            contiguous: false,
        };
        part.contiguous = len == 0 || dense_in_order(part.dims().rev());
        part
    }

    /// Returns whether the layout is C-contiguous: row-major, without gaps.
    pub fn is_contiguous(self) -> bool {
        self.contiguous
    }

    /// Returns whether the layout is F-contiguous: column-major, without gaps.
    pub fn is_f_contiguous(self) -> bool {
        self.is_empty() || dense_in_order(self.dims())
    }

    /// Returns whether the layout is dense: contiguous in some order of the dimensions, with
    /// positive strides.
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

    /// Returns whether each row, the elements along the last axis, is contiguous.
    pub fn has_contiguous_rows(self) -> bool {
        let last = self.dims().next_back();
        last.is_none_or(|(size, stride)| size <= 1 || stride == 1) || self.is_empty()
    }

    /// Returns size and stride of each dimension.
    pub(crate) fn dims(
        self,
    ) -> impl DoubleEndedIterator<Item = (usize, isize)> + ExactSizeIterator + 'a {
        self.shape()
            .iter()
            .copied()
            .zip(self.strides().iter().copied())
    }
}

/// Returns whether dimensions, innermost first, are contiguous.
#[inline]
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
