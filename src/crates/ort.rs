//! ONNX Runtime by the crate `ort`: its values of tensors on the CPU.
//!
//! The feature builds without ONNX Runtime. The library is loaded when the program first calls it:
//! the one that `ort::init_from` or the variable `ORT_DYLIB_PATH` names.

use super::TakeError;
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::Layout;
use crate::storage::Access;
use crate::tensor::Tensor;
use ::ort::value::{PrimitiveTensorElementType, TensorRef, Value};
use std::fmt::Debug;

/// The value owns the tensor's vector, if the tensor is its only handle.
impl<T> TryFrom<Tensor> for ::ort::value::Tensor<T>
where
    T: Element + PrimitiveTensorElementType + Debug,
{
    type Error = TakeError;

    /// # Errors
    ///
    /// When the elements are not `T`s or don't lie one after another; the memory isn't a vector of
    /// `T`s, or is shared (a `TensorRef` takes any); or ONNX Runtime refuses it, which has dropped
    /// the vector by then: the error has an empty tensor.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let (vec, layout) = tensor.take_vec::<T>()?.into_whole()?;
        Value::from_array((layout.shape().to_vec(), vec)).map_err(|error| {
            let empty = Tensor::from(Vec::<T>::new());
            TakeError::new(empty, refused(&error))
        })
    }
}

/// The tensor's elements, borrowed.
impl<'a, T> TryFrom<&'a Tensor> for TensorRef<'a, T>
where
    T: Element + PrimitiveTensorElementType + Debug,
{
    type Error = Error;

    /// # Errors
    ///
    /// When the elements are not `T`s, not on the CPU or not one after another, or ONNX Runtime
    /// refuses them.
    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        let elements = tensor.host_slice::<T>()?;
        Self::from_array_view((tensor.shape().to_vec(), elements)).map_err(|error| refused(&error))
    }
}

/// The tensor keeps the value, whose elements it shares; they count as shared with others.
impl<T> TryFrom<::ort::value::Tensor<T>> for Tensor
where
    T: Element + PrimitiveTensorElementType + Debug,
{
    type Error = Error;

    /// # Errors
    ///
    /// When the CPU can't reach the elements.
    fn try_from(value: ::ort::value::Tensor<T>) -> Result<Self, Error> {
        let (sizes, elements) = value
            .try_extract_tensor::<T>()
            .map_err(|error| refused(&error))?;
        let shape: Vec<usize> = sizes
            .iter()
            .map(|size| size.unsigned_abs() as usize)
            .collect();
        let layout = Layout::contiguous(&shape)?;
        if layout.len() != elements.len() {
            let found = format!("shape {shape:?} of {} elements", elements.len());
            return Err(Incompatibility::from_reason(IncompatibilityKind::Shape, found).into());
        }
        let first = elements.as_ptr();
        // SAFETY: the value keeps its elements in memory of ONNX Runtime or of its own owner, where
        // they stay as it is moved; there are as many as in the layout, one after another.
        unsafe { Self::from_lender(value, first, layout, Access::Shared) }
    }
}

#[cold]
fn refused(error: &::ort::Error) -> Error {
    let reason = format!("ONNX Runtime: {error}");
    Incompatibility::from_reason(IncompatibilityKind::Exchange, reason).into()
}
