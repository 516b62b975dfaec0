//! Rows of views whose rank is in their type: slices where the type says that they are contiguous.

use super::arrangement::Arrangement;
use super::dims::{Rank, RowIndex};
use super::line::LineItem;
use super::lines::{Lines, refuse};
use super::{View, ViewMut};
use crate::dtype::Element;
use crate::layout::LayoutError;

impl<const N: usize, L: Arrangement> Rank<N, L> {
    /// Returns the offset of a row, and its length and stride.
    #[inline]
    fn locate_row(&self, index: &[usize]) -> Result<(isize, usize, isize), LayoutError> {
        let (len, step) = self.check_axis(N.wrapping_sub(1))?;
        let mut offset = 0_isize;
        for (axis, &at) in index.iter().enumerate() {
            let (size, stride) = (self.sizes[axis], self.strides[axis]);
            if at >= size {
                return Err(LayoutError::IndexOutOfBounds {
                    axis,
                    index: at,
                    size,
                });
            }
            // Strides of an empty layout may be any numbers.
            offset = offset.wrapping_add(at.cast_signed().wrapping_mul(stride));
        }
        Ok((if len == 0 { 0 } else { offset }, len, step))
    }
}

impl<'a, T: Element, const N: usize, L: Arrangement> View<'a, T, Rank<N, L>> {
    /// Returns the rows, the lines along the last axis: as slices, if `L` says that they are
    /// contiguous.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::view::ContiguousRows;
    ///
    /// let tensor = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let matrix = tensor.view::<f32>()?.with_rank::<2>()?;
    /// let matrix = matrix.arranged::<ContiguousRows>()?;
    /// let sums: Vec<f32> = matrix.rows().map(|row: &[f32]| row.iter().sum()).collect();
    /// assert_eq!(sums, [3.0, 7.0]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn rows(&self) -> Lines<L::Row<'a, T>, Rank<N, L>> {
        // SAFETY: the view's elements may be read while `'a` lasts; where items are slices, `L`
        // has the last axis contiguous.
        unsafe { Lines::new(self.first, self.layout, N.wrapping_sub(1)) }
            .unwrap_or_else(|error| refuse(&error))
    }

    /// Returns a row, by one index for each dimension but the last: a slice, if `L` says that rows
    /// are contiguous.
    ///
    /// # Panics
    ///
    /// When the index is out of bounds.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::view::RowMajor;
    ///
    /// let tensor = Tensor::arange(0, 24, 1)?.reshape(&[2, 3, 4])?;
    /// let view = tensor.view::<i32>()?.with_rank::<3>()?.arranged::<RowMajor>()?;
    /// assert_eq!(view.row([1, 2]), [20, 21, 22, 23]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn row(&self, index: impl RowIndex<N>) -> L::Row<'a, T> {
        let (offset, len, stride) = self
            .layout
            .locate_row(index.parts())
            .unwrap_or_else(|error| refuse(&error));
        // SAFETY: the index is within the view, whose elements may be read while `'a` lasts; where
        // the row is a slice, `L` has the last axis contiguous.
        unsafe { L::Row::new(self.first.offset(offset), len, stride) }
    }
}

impl<T: Element, const N: usize, L: Arrangement> ViewMut<'_, T, Rank<N, L>> {
    /// Returns the rows, to be written: see [`View::rows`].
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[inline]
    #[track_caller]
    pub fn rows_mut(&mut self) -> Lines<L::RowMut<'_, T>, Rank<N, L>> {
        // SAFETY: nothing else uses the view's elements while it is borrowed, and no two are at one
        // place, so that rows are disjoint; where items are slices, `L` has the last axis
        // contiguous.
        unsafe { Lines::new(self.first, self.layout, N.wrapping_sub(1)) }
            .unwrap_or_else(|error| refuse(&error))
    }

    /// Returns a row, to be written: see [`View::row`].
    ///
    /// # Panics
    ///
    /// When the index is out of bounds.
    #[inline]
    #[track_caller]
    pub fn row_mut(&mut self, index: impl RowIndex<N>) -> L::RowMut<'_, T> {
        let (offset, len, stride) = self
            .layout
            .locate_row(index.parts())
            .unwrap_or_else(|error| refuse(&error));
        // SAFETY: the index is within the view, whose elements nothing else uses while it is
        // borrowed; where the row is a slice, `L` has the last axis contiguous.
        unsafe { L::RowMut::new(self.first.offset(offset), len, stride) }
    }
}
