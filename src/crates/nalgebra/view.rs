//! Views of matrices with strides.

use crate::crates::matrix::matrix;
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::{Layout, LayoutRef};
use crate::tensor::Tensor;
use crate::view::{View, ViewMut};
use ::nalgebra::{DMatrixView, DMatrixViewMut, Dim, Dyn, Matrix, MatrixView, Scalar};
use ::nalgebra::{ViewStorage, ViewStorageMut};
use std::ptr::NonNull;

/// A dynamic matrix's view with both strides.
type Strided<'a, T> = DMatrixView<'a, T, Dyn, Dyn>;
type StridedMut<'a, T> = DMatrixViewMut<'a, T, Dyn, Dyn>;

/// A matrix's numbers of rows and columns, or their strides.
type Pair = (Dyn, Dyn);

/// Returns sizes and strides, which `nalgebra` can't have negative.
fn dims(layout: LayoutRef<'_>) -> Result<(Pair, Pair), Error> {
    let ([rows, columns], strides) = matrix(layout)?;
    let sizes = (Dyn(rows), Dyn(columns));
    if layout.is_empty() {
        return Ok((sizes, (Dyn(1), Dyn(rows))));
    }
    // The stride of a single row or column says nothing.
    let [down, right] = [(rows, strides[0]), (columns, strides[1])].map(|(size, stride)| {
        let stride = if size > 1 { stride } else { 1 };
        usize::try_from(stride).ok().map(Dyn)
    });
    match (down, right) {
        (Some(down), Some(right)) => Ok((sizes, (down, right))),
        _ => Err(Incompatibility::new(
            IncompatibilityKind::Layout,
            format!("strides {strides:?}"),
            "strides that aren't negative",
        )
        .with_remedy("copy the tensor first")
        .into()),
    }
}

/// The same elements.
impl<'a, T: Element + Scalar> TryFrom<View<'a, T>> for Strided<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// When the rank isn't 2, or strides are negative.
    fn try_from(view: View<'a, T>) -> Result<Self, Error> {
        let (sizes, strides) = dims(view.layout())?;
        // SAFETY: the elements at these sizes and strides are there, aligned and not written while
        // `'a` lasts.
        let storage = unsafe { ViewStorage::from_raw_parts(view.as_ptr(), sizes, strides) };
        Ok(Matrix::from_data(storage))
    }
}

/// The same elements.
impl<'a, T: Element + Scalar> TryFrom<ViewMut<'a, T>> for StridedMut<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// When the rank isn't 2, or strides are negative.
    fn try_from(view: ViewMut<'a, T>) -> Result<Self, Error> {
        let (sizes, strides) = dims(view.layout())?;
        let first = view.as_ptr().cast_mut();
        // SAFETY: the elements at these sizes and strides are there, aligned, no two at one place,
        // and used by no other code while `'a` lasts.
        let storage = unsafe { ViewStorageMut::from_raw_parts(first, sizes, strides) };
        Ok(Matrix::from_data(storage))
    }
}

/// The tensor's elements, borrowed.
impl<'a, T: Element + Scalar> TryFrom<&'a Tensor> for Strided<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view`]; and when the rank isn't 2, or strides are negative.
    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        tensor.view::<T>()?.try_into()
    }
}

/// The tensor's elements, borrowed to be written.
impl<'a, T: Element + Scalar> TryFrom<&'a mut Tensor> for StridedMut<'a, T> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view_mut`]; and when the rank isn't 2, or strides are negative.
    fn try_from(tensor: &'a mut Tensor) -> Result<Self, Error> {
        tensor.view_mut::<T>()?.try_into()
    }
}

impl Layout {
    /// Returns the layout of a view of the `nalgebra` crate.
    ///
    /// # Errors
    ///
    /// When there are no elements, and too large sizes.
    ///
    /// ```
    /// use dlbridge::{View, tensor::Layout};
    /// use nalgebra::DMatrix;
    ///
    /// let matrix = DMatrix::from_row_slice(2, 3, &[1, 2, 3, 4, 5, 6]);
    /// let columns = matrix.columns(1, 2);
    /// let layout = Layout::from_nalgebra(&columns)?;
    /// let view = View::from_nalgebra(&columns, &layout);
    /// assert_eq!(view.to_vec(), [2, 3, 5, 6]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn from_nalgebra<T: Scalar, R: Dim, C: Dim, RS: Dim, CS: Dim>(
        view: &MatrixView<'_, T, R, C, RS, CS>,
    ) -> Result<Self, Error> {
        let (rows, columns) = view.shape();
        let (down, right) = view.strides();
        let strides = [down.cast_signed(), right.cast_signed()];
        Ok(Self::strided(&[rows, columns], &strides)?)
    }
}

impl<'a, T: Element + Scalar> View<'a, T> {
    /// Returns the elements of a view of the `nalgebra` crate.
    ///
    /// # Panics
    ///
    /// When `layout` is not that of the view: see [`Layout::from_nalgebra`].
    pub fn from_nalgebra<R: Dim, C: Dim, RS: Dim, CS: Dim>(
        view: &MatrixView<'a, T, R, C, RS, CS>,
        layout: &'a Layout,
    ) -> Self {
        let same = Layout::from_nalgebra(view).is_ok_and(|own| own == *layout);
        assert!(same, "the layout of this very view");
        let first = NonNull::new(view.as_ptr().cast_mut()).expect("no view is at NULL");
        // SAFETY: the view's elements are borrowed for `'a`, and its layout is the one given.
        unsafe { View::from_raw(first, layout.as_ref()) }
    }
}
