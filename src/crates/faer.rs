//! The crate `faer`: tensors own its matrices, and its views are of tensors' elements.
//!
//! A `Mat` has memory of its own kind and takes no other: `MatRef::try_from(&tensor)?.to_owned()`
//! copies a tensor into one.

use super::matrix::matrix;
use crate::dtype::Element;
use crate::error::Error;
use crate::layout::{Layout, LayoutRef};
use crate::storage::Access;
use crate::tensor::Tensor;
use crate::view::{View, ViewMut};
use ::faer::{Mat, MatMut, MatRef};
use std::ptr::NonNull;

/// Returns sizes and strides: those of fewer than two rows or columns lead nowhere and may be any
/// numbers, and `faer` calculates with them.
fn usable(layout: LayoutRef<'_>) -> Result<([usize; 2], [isize; 2]), Error> {
    let ([rows, columns], [down, right]) = matrix(layout)?;
    let is_empty = layout.is_empty();
    let down = if rows > 1 && !is_empty { down } else { 1 };
    let right = if columns > 1 && !is_empty {
        right
    } else {
        rows as isize
    };
    Ok(([rows, columns], [down, right]))
}

/// The tensor owns the matrix: its strides are those of its columns.
impl<T: Element> TryFrom<Mat<T>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When there are no elements, and too large sizes.
    fn try_from(mut matrix: Mat<T>) -> Result<Self, Error> {
        let (rows, columns) = matrix.shape();
        let strides = [matrix.row_stride(), matrix.col_stride()];
        let layout = Layout::strided(&[rows, columns], &strides)?;
        let first = matrix.as_ptr_mut().cast_const();
        // SAFETY: the matrix keeps its elements in memory of its own on the heap, and is moved into
        // the owner, so that no other code uses them.
        unsafe { Self::from_lender(matrix, first, layout, Access::Exclusive) }
    }
}

/// The same elements.
impl<'a, T: Element> TryFrom<View<'a, T>> for MatRef<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// When the rank isn't 2.
    fn try_from(view: View<'a, T>) -> Result<Self, Error> {
        let ([rows, columns], [down, right]) = usable(view.layout())?;
        // SAFETY: the elements at these sizes and strides are there, aligned and not written while
        // `'a` lasts.
        Ok(unsafe { Self::from_raw_parts(view.as_ptr(), rows, columns, down, right) })
    }
}

/// The same elements.
impl<'a, T: Element> TryFrom<ViewMut<'a, T>> for MatMut<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// When the rank isn't 2.
    fn try_from(view: ViewMut<'a, T>) -> Result<Self, Error> {
        let ([rows, columns], [down, right]) = usable(view.layout())?;
        let first = view.as_ptr().cast_mut();
        // SAFETY: the elements at these sizes and strides are there, aligned, no two at one place,
        // and used by no other code while `'a` lasts.
        Ok(unsafe { Self::from_raw_parts_mut(first, rows, columns, down, right) })
    }
}

/// The tensor's elements, borrowed.
impl<'a, T: Element> TryFrom<&'a Tensor> for MatRef<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view`]; and when the rank isn't 2.
    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        tensor.view::<T>()?.try_into()
    }
}

/// The tensor's elements, borrowed to be written.
impl<'a, T: Element> TryFrom<&'a mut Tensor> for MatMut<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view_mut`]; and when the rank isn't 2.
    fn try_from(tensor: &'a mut Tensor) -> Result<Self, Error> {
        tensor.view_mut::<T>()?.try_into()
    }
}

impl Layout {
    /// Returns the layout of a view of the `faer` crate.
    ///
    /// # Errors
    ///
    /// When there are no elements, and too large sizes.
    ///
    /// ```
    /// use dlbridge::{View, tensor::Layout};
    /// use faer::mat;
    ///
    /// let matrix = mat![[1, 2, 3], [4, 5, 6]];
    /// let transposed = matrix.transpose();
    /// let layout = Layout::from_faer(&transposed)?;
    /// let view = View::from_faer(&transposed, &layout);
    /// assert_eq!(view.to_vec(), [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn from_faer<T>(view: &MatRef<'_, T>) -> Result<Self, Error> {
        let strides = [view.row_stride(), view.col_stride()];
        Ok(Self::strided(&[view.nrows(), view.ncols()], &strides)?)
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Returns the elements of a view of the `faer` crate.
    ///
    /// # Panics
    ///
    /// When `layout` is not that of the view: see [`Layout::from_faer`].
    pub fn from_faer(view: &MatRef<'a, T>, layout: &'a Layout) -> Self {
        let same = Layout::from_faer(view).is_ok_and(|own| own == *layout);
        assert!(same, "the layout of this very view");
        let first = NonNull::new(view.as_ptr().cast_mut()).expect("no view is at NULL");
        // SAFETY: the view's elements are borrowed for `'a`, and its layout is the one given.
        unsafe { View::from_raw(first, layout.as_ref()) }
    }
}
