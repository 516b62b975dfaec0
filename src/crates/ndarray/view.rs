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

use super::{View, ViewMut};
use crate::dtype::Element;
use crate::error::Error;
use crate::layout::{Layout, LayoutRef};
use ndarray::{ArrayView, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};
use std::ptr::NonNull;

/// First arguments for `ndarray`, which needs strides that aren't negative and the lowest address.
struct Forwards {
    shape: Vec<usize>,
    strides: Vec<usize>,
    /// How far the lowest element is from the one of index 0.
    lowest: isize,
    /// The axes to be inverted afterwards.
    inverted: Vec<Axis>,
}

impl Forwards {
    fn from_layout(layout: LayoutRef<'_>) -> Self {
        let mut forwards = Self {
            shape: layout.shape().to_vec(),
            strides: Vec::with_capacity(layout.rank()),
            lowest: layout.extent().map_or(0, |(lowest, _)| lowest),
            inverted: Vec::new(),
        };
        if layout.is_empty() {
            // The strides don't matter, but `ndarray` checks them.
            forwards.strides = vec![0; layout.rank()];
            return forwards;
        }
        for (axis, (size, stride)) in layout.dims().enumerate() {
            // The stride of a single element says nothing, and could be too large for `ndarray`.
            let matters = size > 1;
            forwards
                .strides
                .push(if matters { stride.unsigned_abs() } else { 0 });
            if matters && stride < 0 {
                forwards.inverted.push(Axis(axis));
            }
        }
        forwards
    }

    /// Returns whether each stride is longer than all shorter ones' dimensions together, which
    /// `ndarray` demands of views to be written through.
    fn is_nested(&self) -> bool {
        let dims = self.shape.iter().zip(&self.strides);
        let mut dims: Vec<_> = dims.filter(|(size, _)| **size > 1).collect();
        dims.sort_by_key(|(_, stride)| **stride);
        let mut reached = 0;
        dims.into_iter().all(|(size, stride)| {
            let nested = *stride > reached;
            reached += (size - 1) * stride;
            nested
        })
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Returns the same elements as a view of the `ndarray` crate.
    pub fn to_ndarray(&self) -> ArrayViewD<'a, T> {
        let forwards = Forwards::from_layout(self.layout);
        let shape = IxDyn(&forwards.shape).strides(IxDyn(&forwards.strides));
        // SAFETY: the elements that the layout leads to, from the lowest one on; they are there,
        // aligned and not written while `'a` lasts.
        let mut view = unsafe {
            ArrayViewD::from_shape_ptr(shape, self.first.as_ptr().offset(forwards.lowest))
        };
        forwards
            .inverted
            .into_iter()
            .for_each(|axis| view.invert_axis(axis));
        view
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
        let forwards = Forwards::from_layout(self.layout);
        if self.is_empty() {
            let shape = IxDyn(&forwards.shape);
            return Ok(ArrayViewMutD::from_shape(shape, &mut []).expect("no elements"));
        }
        if !forwards.is_nested() {
            return Err(Error::Interleaved {
                shape: self.shape().to_vec(),
                strides: self.strides().to_vec(),
            });
        }
        let shape = IxDyn(&forwards.shape).strides(IxDyn(&forwards.strides));
        // SAFETY: the elements that the layout leads to, from the lowest one on; they are there,
        // aligned, no two at one place, and used by no other code while `'a` lasts.
        let mut view = unsafe {
            ArrayViewMutD::from_shape_ptr(shape, self.first.as_ptr().offset(forwards.lowest))
        };
        forwards
            .inverted
            .into_iter()
            .for_each(|axis| view.invert_axis(axis));
        Ok(view)
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
    use crate::Tensor;
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
