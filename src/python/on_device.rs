//! Tensors where they are wanted.

use super::cuda;
use crate::device::Device;
use crate::dtype::DType;
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// Zeros on a device.
///
/// # Errors
///
/// A `BufferError` where nothing can be made there, and a `MemoryError` where there is not enough
/// memory.
pub fn make(shape: &[usize], dtype: DType, device: Device) -> PyResult<Tensor> {
    Ok(cuda::make(shape, dtype, device)?)
}

/// Returns a tensor's copy on another device, or itself where it is there.
///
/// # Errors
///
/// As of [`make`].
pub fn to_device(tensor: &Tensor, device: Device) -> PyResult<Tensor> {
    cuda::to_device(tensor, device)
}
