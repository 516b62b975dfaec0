//! Owned arrays: `Array` and `ArcArray`.

use super::view::{check_nested, forward_stride, is_inverted, wrong_rank};
use crate::crates::TakeError;
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::Layout;
use crate::storage::{Access, Storage};
use crate::tensor::{TakenVec, Tensor, Uninit};
use ndarray::{
    ArcArray, Array, Array1, ArrayD, Axis, Dimension, IxDyn, Order, ShapeBuilder, Slice,
};

/// The tensor owns the array's vector: no copy, whatever the strides are.
impl<T: Element, D: Dimension> TryFrom<Array<T, D>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When there are more than [`MAX_RANK`](crate::layout::MAX_RANK) dimensions.
    fn try_from(array: Array<T, D>) -> Result<Self, Error> {
        let mut tensor = Uninit::new();
        tensor
            .layout()
            .become_strided(array.shape(), |axis| array.strides()[axis])?;
        let (vec, offset) = array.into_raw_vec_and_offset();
        let offset = offset.unwrap_or(0) * size_of::<T>();
        Self::from_uninit(tensor, Storage::from_vec(vec), offset, T::DTYPE)
    }
}

/// The tensor owns the array's vector if this is the only handle to it; otherwise it shares the
/// elements, read-only.
impl<T: Element, D: Dimension + 'static> TryFrom<ArcArray<T, D>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When there are more than [`MAX_RANK`](crate::layout::MAX_RANK) dimensions.
    fn try_from(array: ArcArray<T, D>) -> Result<Self, Error> {
        let array = match array.try_into_owned_nocopy() {
            Ok(array) => return Self::try_from(array),
            Err(array) => array,
        };
        let layout = Layout::strided(array.shape(), array.strides())?;
        let first = array.as_ptr();
        // SAFETY: the array keeps its elements in memory of its own on the heap. Other handles to
        // it read them, and copy them before they write, as this handle exists.
        unsafe { Self::from_lender(array, first, layout, Access::ReadOnly) }
    }
}

/// The array owns the tensor's vector, if the tensor is its only handle.
impl<T: Element, D: Dimension> TryFrom<Tensor> for Array<T, D> {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the elements are not `T`s, the rank isn't that of `D`, the memory isn't a vector of
    /// `T`s or is shared, or `ndarray` has no such arrangement: elements in one place, or a
    /// part of the vector with gaps.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        if D::NDIM.is_some_and(|rank| rank != tensor.rank()) {
            let error = wrong_rank(D::NDIM, tensor.rank());
            return Err(TakeError::new(tensor, error));
        }
        if let Err(error) = check_nested(tensor.layout()) {
            return Err(TakeError::new(tensor, error));
        }
        let array = array(tensor.take_vec::<T>()?)?;
        Ok(array.into_dimensionality().expect("the rank was compared"))
    }
}

/// The array owns the tensor's vector, as an `Array` does.
impl<T: Element, D: Dimension> TryFrom<Tensor> for ArcArray<T, D> {
    type Error = TakeError;

    /// # Errors
    ///
    /// The same as for an `Array`.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        Ok(Array::try_from(tensor)?.into_shared())
    }
}

/// Returns the array of a vector, whose layout is nested.
fn array<T: Element>(taken: TakenVec<T>) -> Result<ArrayD<T>, TakeError> {
    let layout = taken.layout.as_ref();
    let Some((lowest, _)) = layout.extent() else {
        let shape = IxDyn(layout.shape());
        return Ok(ArrayD::from_shape_vec(shape, Vec::new()).expect("no elements"));
    };
    if layout.is_contiguous() {
        let end = taken.offset + layout.len();
        let part = Slice::from(taken.offset..end);
        let part = Array1::from_vec(taken.vec).slice_axis_move(Axis(0), part);
        let shape = (IxDyn(layout.shape()), Order::RowMajor);
        return Ok(part.into_shape_with_order(shape).expect("as many elements"));
    }
    if taken.offset.checked_add_signed(lowest) != Some(0) {
        let found = "strided elements behind others";
        let wanted = "contiguous elements, or such from the vector's beginning on";
        let error = Incompatibility::new(IncompatibilityKind::Layout, found, wanted)
            .with_remedy("copy the tensor first: tensor.view()?.to_ndarray().to_owned()");
        return Err(TakeError::new(taken.into_tensor(), error));
    }
    let strides: Vec<usize> = layout.dims().map(forward_stride).collect();
    let shape = IxDyn(layout.shape()).strides(IxDyn(&strides));
    let mut array = ArrayD::from_shape_vec(shape, taken.vec).expect("a checked arrangement");
    for (axis, dim) in layout.dims().enumerate() {
        if is_inverted(dim) {
            array.invert_axis(Axis(axis));
        }
    }
    Ok(array)
}
