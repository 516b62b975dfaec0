//! Allocation of tensors on a device, and copies to a device.

use super::cuda;
use crate::device::Device;
use crate::dtype::DType;
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// Creates a tensor of zeros on a device.
///
/// # Errors
///
/// A `BufferError` where nothing can be made there, and a `MemoryError` where there is not enough
/// memory.
pub fn make(shape: &[usize], dtype: DType, device: Device) -> PyResult<Tensor> {
    Ok(cuda::make(shape, dtype, device)?)
}

/// Returns the tensor, or a copy of it on another device.
///
/// # Errors
///
/// The same as for [`make`].
pub fn to_device(tensor: &Tensor, device: Device) -> PyResult<Tensor> {
    cuda::to_device(tensor, device)
}
