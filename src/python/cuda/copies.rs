//! Copies to and from GPUs, and tensors made there.

use super::super::error::{self, not_exchangeable};
use super::gpu::gpu_of;
use crate::cuda::{self, CudaError, Gpu, Stream, is_present};
use crate::device::{Device, DeviceKind};
use crate::dlpack::python::AllocationError;
use crate::dtype::DType;
use crate::error::IncompatibilityKind as Kind;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use std::borrow::Cow;

/// Returns whether a tensor can be copied from one device to another.
pub(in crate::python) fn can_move(from: Device, to: Device) -> bool {
    let is_known = |device: Device| device == Device::CPU || Gpu::from_device(device).is_ok();
    is_present() && is_known(from) && is_known(to)
}

/// Returns the tensor, or a copy of it on another device.
pub(in crate::python) fn to_device(tensor: &Tensor, device: Device) -> PyResult<Tensor> {
    if tensor.device() == device {
        return Ok(tensor.clone());
    }
    copy_on(tensor, device)
}

/// Returns the same elements in memory of their own, on the same device where there is such memory.
pub(in crate::python) fn copy(tensor: &Tensor) -> PyResult<Tensor> {
    match is_present() {
        true => copy_on(tensor, tensor.device()),
        false => Ok(tensor.copy()?),
    }
}

fn is_of_cuda(device: Device) -> bool {
    use DeviceKind::{Cuda, CudaHost, CudaManaged};
    matches!(device.kind(), Cuda | CudaHost | CudaManaged)
}

/// Returns the same elements in memory of their own, on a device.
pub(in crate::python) fn copy_on(tensor: &Tensor, device: Device) -> PyResult<Tensor> {
    if device == Device::CPU {
        return host_copy(tensor);
    }
    if !is_of_cuda(device) {
        return Err(not_exchangeable((
            Kind::Device,
            format!(
                "the tensor is on {}, and dlbridge can't copy it to {device}",
                tensor.device()
            ),
        )));
    }
    let gpu = Gpu::from_device(device)?;
    // The CPU waits for nothing else than copies; other threads may run meanwhile.
    Python::attach(|py| {
        py.detach(|| -> Result<Tensor, CudaError> {
            let mut to = match device.kind() {
                DeviceKind::Cuda => return cuda::to_device(tensor, &Stream::current(gpu)),
                DeviceKind::CudaHost => cuda::pinned(tensor.shape(), tensor.dtype(), gpu)?,
                _ => cuda::managed(tensor.shape(), tensor.dtype(), gpu)?,
            };
            match tensor.device().is_host_accessible() {
                true => cuda::copy_on_host(&mut to, tensor)?,
                false => {
                    // The GPU that holds the elements copies them, and `to` may be beside another
                    // one.
                    let stream = Stream::current(Gpu::from_device(tensor.device())?);
                    cuda::copy_into(&mut to, tensor, &stream)?;
                    stream.synchronize()?;
                }
            }
            Ok(to)
        })
    })
    .map_err(PyErr::from)
}

fn host_copy(tensor: &Tensor) -> PyResult<Tensor> {
    if tensor.device() == Device::CPU || !is_present() {
        return Ok(tensor.copy()?);
    }
    Ok(Python::attach(|py| py.detach(|| cuda::to_host(tensor)))?)
}

/// Returns the tensor, or a copy on the host if the CPU can't access it.
pub(in crate::python) fn on_host(tensor: &Tensor) -> PyResult<Cow<'_, Tensor>> {
    match gpu_of(tensor.device())? {
        None => {
            settled(tensor)?;
            Ok(Cow::Borrowed(tensor))
        }
        Some(_) => host_copy(tensor).map(Cow::Owned),
    }
}

/// Waits until the CPU may access a tensor in memory that it reaches.
#[inline]
pub(in crate::python) fn settled(tensor: &Tensor) -> PyResult<()> {
    if tensor.device() == Device::CPU {
        return Ok(());
    }
    Ok(Python::attach(|py| py.detach(|| cuda::settle(tensor)))?)
}

/// Creates a tensor of zeros on a device.
pub(in crate::python) fn make(
    shape: &[usize],
    dtype: DType,
    device: Device,
) -> Result<Tensor, CudaError> {
    if device == Device::CPU {
        return Ok(Tensor::zeros(shape, dtype)?);
    }
    if !is_of_cuda(device) {
        return Err(Error::from(no_device(device)).into());
    }
    let gpu = Gpu::from_device(device)?;
    match device.kind() {
        DeviceKind::Cuda => cuda::zeros(shape, dtype, &Stream::current(gpu)),
        DeviceKind::CudaHost => cuda::pinned(shape, dtype, gpu),
        _ => cuda::managed(shape, dtype, gpu),
    }
}

/// Describes a failed allocation to an exchange table, without Python.
#[cold]
pub(in crate::python) fn no_allocation(error: &CudaError) -> AllocationError {
    let kind = match error {
        CudaError::Tensor(error) => return error::no_allocation(error),
        CudaError::OutOfMemory { .. } => "MemoryError",
        CudaError::Driver { .. } | CudaError::Capturing { .. } => "RuntimeError",
        _ => "BufferError",
    };
    AllocationError {
        kind,
        message: error.to_string(),
    }
}

#[cold]
fn no_device(device: Device) -> Incompatibility {
    let reason = format!("dlbridge makes no tensors on {device}");
    Incompatibility::new(
        IncompatibilityKind::Device,
        device.to_string(),
        "cpu, or a device of CUDA",
    )
    .with_reason(reason)
}
