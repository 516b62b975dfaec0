//! Checks of a copy that hold wherever the two tensors are.

use crate::cuda::driver::error::CudaError;
use crate::error::Error;
use crate::tensor::Tensor;

pub(super) fn refused(problem: String) -> Result<(), CudaError> {
    Err(CudaError::Copy { problem })
}

/// Checks all that doesn't depend on where the tensors are.
pub(super) fn check_elements(to: &Tensor, from: &Tensor) -> Result<(), CudaError> {
    let elements = |tensor: &Tensor| format!("{:?} of {}", tensor.shape(), tensor.dtype());
    if to.shape() != from.shape() || to.dtype() != from.dtype() {
        return refused(format!(
            "a tensor {} can't take the elements of one {}",
            elements(to),
            elements(from)
        ));
    }
    if to.is_read_only() {
        return Err(Error::ReadOnly.into());
    }
    if !to.layout().overlaps_itself().is_excluded() {
        return Err(Error::SelfOverlap {
            shape: to.shape().to_vec(),
            strides: to.strides().to_vec(),
        }
        .into());
    }
    if !to.overlaps(from).is_excluded() {
        return refused(
            "source and target of the copy overlap in memory; pass a copy of the source".to_owned(),
        );
    }
    let is_dense = to.layout().is_contiguous() && from.layout().is_contiguous();
    let is_packed = !from.dtype().step_bits(from.is_padded()).is_multiple_of(8);
    if (is_packed && !is_dense) || from.is_padded() != to.is_padded() {
        return refused(format!(
            "elements of {} that don't lie one after another can't be copied to or from a GPU",
            from.dtype()
        ));
    }
    Ok(())
}
