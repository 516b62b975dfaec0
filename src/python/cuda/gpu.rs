//! The GPU of a device.

use crate::cuda::{CudaError, Gpu, is_present};
use crate::device::{Device, DeviceKind};

/// Returns the GPU on whose streams memory of a device is used: of its own memory, and of managed
/// memory; `None` for others.
pub(in crate::python) fn gpu_of_order(device: Device) -> Result<Option<Gpu>, CudaError> {
    match device.kind() {
        DeviceKind::CudaManaged if is_present() => Gpu::from_device(device).map(Some),
        _ => gpu_of(device),
    }
}

/// Returns the GPU whose own memory a device is; `None` for others, and where nothing of CUDA's can
/// be.
#[inline]
pub(in crate::python) fn gpu_of(device: Device) -> Result<Option<Gpu>, CudaError> {
    if device.kind() != DeviceKind::Cuda || !is_present() {
        return Ok(None);
    }
    Gpu::from_device(device).map(Some)
}
