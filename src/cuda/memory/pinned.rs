//! Tensors in pinned and managed memory.

use crate::cuda::driver::answer::call;
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::Memory;
use crate::cuda::memory::reachable::Place;
use crate::cuda::memory::tensor_uses::keeper;
use crate::cuda::stream::deferred;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::error::Error;
use crate::storage::Storage;
use crate::tensor::Tensor;
use cudarc::driver::sys;
use std::ptr;

/// Returns zeros in memory of the host that is pinned: what is copied from and to it is copied
/// without the CPU, and without waiting for it.
///
/// # Errors
///
/// Fails if there is not enough memory, or the shape can't be a tensor's.
pub fn pinned(shape: &[usize], dtype: DType, gpu: Gpu) -> Result<Tensor, CudaError> {
    let device = Device::new(DeviceKind::CudaHost, 0);
    host(shape, dtype, gpu, device, |bytes| {
        let mut data = ptr::null_mut();
        // For all contexts, as frameworks take it to be.
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the GPU was entered.
        unsafe { call!(cuMemHostAlloc(&mut data, bytes, flags)) }?;
        Ok(Place::Pinned(data))
    })
}

/// Returns zeros in managed memory, which migrates to its user: the CPU and all GPUs.
///
/// # Errors
///
/// See [`pinned`].
pub fn managed(shape: &[usize], dtype: DType, gpu: Gpu) -> Result<Tensor, CudaError> {
    let device = Device::new(DeviceKind::CudaManaged, gpu.id());
    host(shape, dtype, gpu, device, |bytes| {
        let mut address = 0;
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: the GPU was entered.
        unsafe { call!(cuMemAllocManaged(&mut address, bytes, flags)) }?;
        Ok(Place::Managed(address))
    })
}

fn host(
    shape: &[usize],
    dtype: DType,
    gpu: Gpu,
    device: Device,
    allocate: impl FnOnce(usize) -> Result<Place, CudaError>,
) -> Result<Tensor, CudaError> {
    deferred::drain();
    Tensor::check_zeros(shape, dtype)?;
    let bytes = crate::cuda::memory::array::bytes_of(shape, dtype)?;
    if bytes == 0 {
        return Ok(Tensor::from_storage(Storage::empty(device), shape, dtype)?);
    }
    let _context = gpu.enter()?;
    let relaxed = relax_capture_mode();
    let allocated = allocate(bytes).map_err(|error| match error.code() {
        Some(code) if code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32 => {
            CudaError::OutOfMemory { device, bytes }
        }
        _ => error,
    });
    drop(relaxed);
    let storage = Memory::reachable(allocated?, bytes, gpu, device);
    // SAFETY: new memory of that many bytes, which the CPU reaches.
    unsafe { storage.data_mut().write_bytes(0, bytes) };
    Tensor::from_storage(storage, shape, dtype).map_err(Error::into)
}

/// Waits until the work is done that uses a tensor's memory, so that the CPU may use it by its
/// address: what this crate looks at it with, such as [`Tensor::view`], waits by itself. This is
/// for what [`pinned`] and [`managed`] made; of others' memory nothing is known, and what is on a
/// GPU is [fetched](crate::cuda::to_host).
///
/// # Errors
///
/// Fails if work failed, or a graph that is being captured uses the memory.
pub fn settle(tensor: &Tensor) -> Result<(), CudaError> {
    match keeper(tensor) {
        Some(memory) if tensor.device().is_host_accessible() => memory.settle(),
        _ => Ok(()),
    }
}
