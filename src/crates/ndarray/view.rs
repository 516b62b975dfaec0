//! Typed views as views of the `ndarray` crate, and back.
//!
//! ```
//! use dlbridge::{Tensor, View};
//! use ndarray::Axis;
//!
//! let tensor = Tensor::from([[1.0_f64, 2.0], [3.0, 4.0]]);
//! let view = tensor.view::<f64>()?.to_ndarray().into_dimensionality::<ndarray::Ix2>().unwrap();
//! assert_eq!(view.sum_axis(Axis(0)).as_slice(), Some(&[4.0, 6.0][..]));
//! # Ok::<(), dlbridge::Error>(())
//! ```

use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::{Layout, LayoutRef};
use crate::tensor::Tensor;
use crate::view::{View, ViewMut};
use ndarray::{ArrayView, ArrayViewD, ArrayViewMut, ArrayViewMutD, Axis, Dimension};
use ndarray::{ShapeBuilder, StrideShape};
use std::ptr::NonNull;

/// Returns the stride without its sign, as `ndarray` takes it: the axis is inverted afterwards. The
/// stride of a single element says nothing, and could be too large for `ndarray`.
pub(super) fn forward_stride((size, stride): (usize, isize)) -> usize {
    if size > 1 { stride.unsigned_abs() } else { 0 }
}

/// Checks whether the axis is inverted afterwards.
pub(super) fn is_inverted((size, stride): (usize, isize)) -> bool {
    size > 1 && stride < 0
}

/// Returns the arguments for `ndarray`, which needs strides that aren't negative, and how far the
/// lowest element is from the one of index 0. `None` if the rank is not that of `D`.
fn forwards<D: Dimension>(layout: LayoutRef<'_>) -> Option<(StrideShape<D>, isize)> {
    let rank = layout.rank();
    if D::NDIM.is_some_and(|wanted| wanted != rank) {
        return None;
    }
    let mut shape = D::zeros(rank);
    shape.slice_mut().copy_from_slice(layout.shape());
    if layout.is_contiguous() || layout.is_empty() {
        // `ndarray` has these strides itself. It checks those that it is given, also of no elements.
        return Some((shape.into(), 0));
    }
    let (mut strides, mut lowest) = (D::zeros(rank), 0);
    for (to, dim) in strides.slice_mut().iter_mut().zip(layout.dims()) {
        *to = forward_stride(dim);
        if is_inverted(dim) {
            lowest += (dim.0 as isize - 1) * dim.1;
        }
    }
    Some((shape.strides(strides), lowest))
}

/// Checks that each stride is longer than all shorter ones' dimensions together, which `ndarray`
/// demands of elements to be written.
pub(super) fn check_nested(layout: LayoutRef<'_>) -> Result<(), Error> {
    if layout.is_contiguous() {
        return Ok(());
    }
    let dims = layout.dims().filter(|(size, _)| *size > 1);
    let mut dims: Vec<_> = dims
        .map(|(size, stride)| (stride.unsigned_abs(), size))
        .collect();
    dims.sort_unstable();
    let mut reached = 0;
    let nested = dims.into_iter().all(|(stride, size)| {
        let nested = stride > reached;
        reached += (size - 1) * stride;
        nested
    });
    if nested {
        return Ok(());
    }
    Err(Error::Interleaved {
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
    })
}

#[cold]
pub(super) fn wrong_rank(wanted: Option<usize>, found: usize) -> Error {
    let wanted = format!("rank {}", wanted.unwrap_or(found));
    Incompatibility::new(IncompatibilityKind::Rank, format!("rank {found}"), wanted).into()
}

impl<'a, T: Element> View<'a, T> {
    /// Returns the same elements as a view of the `ndarray` crate.
    pub fn to_ndarray(&self) -> ArrayViewD<'a, T> {
        ArrayViewD::try_from(*self).expect("any rank")
    }
}

/// The same elements.
impl<'a, T: Element, D: Dimension> TryFrom<View<'a, T>> for ArrayView<'a, T, D> {
    type Error = Error;

    /// # Errors
    ///
    /// When the rank isn't that of `D`.
    fn try_from(view: View<'a, T>) -> Result<Self, Error> {
        let Some((shape, lowest)) = forwards(view.layout()) else {
            return Err(wrong_rank(D::NDIM, view.rank()));
        };
        // SAFETY: the elements that the layout leads to, from the lowest one on; they are there,
        // aligned and not written while `'a` lasts.
        let mut array = unsafe { Self::from_shape_ptr(shape, view.as_ptr().offset(lowest)) };
        if lowest != 0 {
            for (axis, dim) in view.layout().dims().enumerate() {
                if is_inverted(dim) {
                    array.invert_axis(Axis(axis));
                }
            }
        }
        Ok(array)
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Returns the same elements as a view of the `ndarray` crate.
    ///
    /// # Errors
    ///
    /// When dimensions are interleaved, such as those of shape \[3, 2\] with strides \[2, 3\]: no
    /// two elements are at one place, but `ndarray` can't tell.
    pub fn into_ndarray(self) -> Result<ArrayViewMutD<'a, T>, Error> {
        ArrayViewMutD::try_from(self)
    }
}

/// The same elements.
impl<'a, T: Element, D: Dimension> TryFrom<ViewMut<'a, T>> for ArrayViewMut<'a, T, D> {
    type Error = Error;

    /// # Errors
    ///
    /// When the rank isn't that of `D`, or dimensions are interleaved: see
    /// [`ViewMut::into_ndarray`].
    fn try_from(view: ViewMut<'a, T>) -> Result<Self, Error> {
        let layout = view.layout();
        let Some((shape, lowest)) = forwards(layout) else {
            return Err(wrong_rank(D::NDIM, view.rank()));
        };
        check_nested(layout)?;
        // SAFETY: the elements that the layout leads to, from the lowest one on; they are there,
        // aligned, no two at one place, and used by no other code while `'a` lasts.
        let mut array =
            unsafe { Self::from_shape_ptr(shape, view.as_ptr().cast_mut().offset(lowest)) };
        if lowest != 0 {
            for (axis, dim) in layout.dims().enumerate() {
                if is_inverted(dim) {
                    array.invert_axis(Axis(axis));
                }
            }
        }
        Ok(array)
    }
}

/// The tensor's elements, borrowed.
impl<'a, T: Element, D: Dimension> TryFrom<&'a Tensor> for ArrayView<'a, T, D> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view`]; and when the rank isn't that of `D`.
    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        tensor.view::<T>()?.try_into()
    }
}

/// The tensor's elements, borrowed to be written.
impl<'a, T: Element, D: Dimension> TryFrom<&'a mut Tensor> for ArrayViewMut<'a, T, D> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view_mut`]; when the rank isn't that of `D`, or dimensions are
    /// interleaved: see [`ViewMut::into_ndarray`].
    fn try_from(tensor: &'a mut Tensor) -> Result<Self, Error> {
        tensor.view_mut::<T>()?.try_into()
    }
}

impl Layout {
    /// Returns the layout of a view of the `ndarray` crate.
    ///
    /// # Errors
    ///
    /// When it has more than [`MAX_RANK`](crate::layout::MAX_RANK) dimensions.
    ///
    /// ```
    /// use dlbridge::{View, tensor::Layout};
    /// use ndarray::array;
    ///
    /// let matrix = array![[1, 2, 3], [4, 5, 6]];
    /// let layout = Layout::from_ndarray(&matrix.t())?;
    /// let view = View::from_ndarray(&matrix.t(), &layout);
    /// assert_eq!(view.to_vec(), [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn from_ndarray<T, D: Dimension>(view: &ArrayView<'_, T, D>) -> Result<Self, Error> {
        Ok(Self::strided(view.shape(), view.strides())?)
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Returns the elements of a view of the `ndarray` crate.
    ///
    /// # Panics
    ///
    /// When `layout` is not that of the view: see [`Layout::from_ndarray`].
    pub fn from_ndarray<D: Dimension>(view: &ArrayView<'a, T, D>, layout: &'a Layout) -> Self {
        assert_eq!(
            (view.shape(), view.strides()),
            (layout.shape(), layout.strides()),
            "the layout of this very view"
        );
        let first = NonNull::new(view.as_ptr().cast_mut()).expect("ndarray has no NULL pointers");
        // SAFETY: the view's elements are borrowed for `'a`, and its layout is the one given.
        unsafe { View::from_raw(first, layout.as_ref()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, s};

    #[test]
    fn every_layout_round_trips() -> Result<(), Error> {
        let numbers: Vec<i32> = (0..24).collect();
        let tensor = Tensor::from_vec(numbers.clone(), &[2, 3, 4])?;
        let array = Array3::from_shape_vec((2, 3, 4), numbers).unwrap();
        for (ours, theirs) in [
            (tensor.clone(), array.view().into_dyn()),
            (tensor.transpose(), array.t().into_dyn()),
            (
                tensor.step_by(2, -2)?,
                array.slice(s![.., .., ..;-2]).into_dyn(),
            ),
            (
                tensor.slice(1, 1..)?.step_by(0, -1)?,
                array.slice(s![..;-1, 1.., ..]).into_dyn(),
            ),
            (
                tensor.slice(0, 1..1)?,
                array.slice(s![1..1, .., ..]).into_dyn(),
            ),
        ] {
            let view = ours.view::<i32>()?;
            assert_eq!(view.to_ndarray(), theirs);
            let layout = Layout::from_ndarray(&theirs)?;
            let back = View::from_ndarray(&theirs, &layout);
            assert_eq!(back.to_vec(), view.to_vec());
        }
        Ok(())
    }

    #[test]
    fn writes_through_a_view_are_visible() -> Result<(), Error> {
        let mut tensor = Tensor::from([[1_u8, 2], [3, 4]]).step_by(1, -1)?;
        let mut view = tensor.view_mut::<u8>()?.into_ndarray()?;
        assert_eq!(view[[0, 0]], 2);
        view[[0, 0]] = 9;
        assert_eq!(tensor.to_vec::<u8>()?, [9, 1, 4, 3]);
        Ok(())
    }
}
