//! Arrays of numbers, and tensors of rank 1.

use super::check_nulls;
use crate::crates::TakeError;
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind, LayoutError};
use crate::layout::Layout;
use crate::storage::Access;
use crate::tensor::Tensor;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use std::panic::RefUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// The tensor owns the array's memory if this is the only handle to it; otherwise it shares it,
/// read-only.
impl<P: ArrowPrimitiveType<Native: Element>> TryFrom<PrimitiveArray<P>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When there are nulls, or the numbers stand for something else: times, decimals.
    fn try_from(array: PrimitiveArray<P>) -> Result<Self, Error> {
        let shape = [array.len()];
        tensor(array, Layout::contiguous(&shape)?)
    }
}

/// Creates a tensor of an array's elements, one after another.
pub(super) fn tensor<P: ArrowPrimitiveType<Native: Element>>(
    array: PrimitiveArray<P>,
    layout: Layout,
) -> Result<Tensor, Error> {
    check_nulls(array.null_count())?;
    if !array.data_type().is_numeric() || array.data_type().is_decimal() {
        let (found, wanted) = (array.data_type().to_string(), "plain numbers");
        return Err(
            Incompatibility::new(IncompatibilityKind::DType, found, wanted)
                .with_remedy("reinterpret_cast the array first")
                .into(),
        );
    }
    if array.len() < layout.len() {
        return Err(LayoutError::ElementCount {
            shape: layout.shape().to_vec(),
            expected: layout.len(),
            found: array.len(),
        }
        .into());
    }
    // Without a list's values behind its last element.
    let (_, values, _) = match array.len() == layout.len() {
        true => array.into_parts(),
        false => {
            let part = array.slice(0, layout.len());
            drop(array);
            part.into_parts()
        }
    };
    let buffer = match values.into_inner().into_vec::<P::Native>() {
        Ok(vec) => return Tensor::from_vec(vec, layout.shape()),
        Err(buffer) => buffer,
    };
    match buffer.into_mutable() {
        Ok(mut buffer) => {
            let first = buffer.as_mut_ptr().cast::<P::Native>().cast_const();
            // SAFETY: the buffer has the array's elements in memory of its own on the heap, aligned
            // for them, and is the only handle to them.
            unsafe { Tensor::from_lender(buffer, first, layout, Access::Exclusive) }
        }
        Err(buffer) => {
            let first = buffer.as_ptr().cast::<P::Native>();
            // SAFETY: the buffer keeps the array's elements, aligned for them. It is never written
            // while there are several handles to it, and this is one.
            unsafe { Tensor::from_lender(buffer, first, layout, Access::ReadOnly) }
        }
    }
}

/// The array owns the tensor's vector if the tensor is its only handle; otherwise it keeps the
/// tensor.
impl<P: ArrowPrimitiveType<Native: Element>> TryFrom<Tensor> for PrimitiveArray<P> {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the elements are not of this type, not on the CPU or not one after another, or the rank
    /// isn't 1.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        if tensor.rank() != 1 {
            let found = format!("rank {}", tensor.rank());
            let error = Incompatibility::new(IncompatibilityKind::Rank, found, "rank 1")
                .with_remedy("reshape the tensor, or convert it to a FixedSizeListArray");
            return Err(TakeError::new(tensor, error));
        }
        array(tensor)
    }
}

/// Creates an array of a tensor's elements, one after another.
pub(super) fn array<P: ArrowPrimitiveType<Native: Element>>(
    tensor: Tensor,
) -> Result<PrimitiveArray<P>, TakeError> {
    if let Err(error) = tensor.host_slice::<P::Native>() {
        return Err(TakeError::new(tensor, error));
    }
    let len = tensor.len();
    let values = match tensor.take_vec::<P::Native>() {
        Ok(_) if len == 0 => ScalarBuffer::from(Vec::new()),
        Ok(taken) => ScalarBuffer::new(Buffer::from_vec(taken.vec), taken.offset, len),
        Err((tensor, _)) => ScalarBuffer::new(buffer::<P::Native>(tensor), 0, len),
    };
    Ok(PrimitiveArray::new(values, None))
}

/// Returns a buffer that keeps a tensor of elements that were looked at.
fn buffer<T: Element>(tensor: Tensor) -> Buffer {
    let slice = tensor.host_slice::<T>().expect("it was checked");
    let (first, bytes) = (NonNull::from(slice).cast::<u8>(), size_of_val(slice));
    // SAFETY: the tensor keeps its elements where they are. No code writes them: that takes the
    // only handle, and foreign writers are excluded by the promise that the memory came with.
    unsafe { Buffer::from_custom_allocation(first, bytes, Arc::new(Kept { _tensor: tensor })) }
}

/// A tensor that is kept until the buffer is dropped.
struct Kept {
    _tensor: Tensor,
}

// Nothing is done with it but dropping it.
impl RefUnwindSafe for Kept {}
