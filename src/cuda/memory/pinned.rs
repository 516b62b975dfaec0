//! Memory of the host that GPUs reach: pinned, and managed.

use crate::cuda::driver::call;
use crate::cuda::driver::capture_mode::beside_captures;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::Memory;
use crate::cuda::memory::foreign::keeper;
use crate::cuda::stream::deferred::{self, Release};
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::error::Error;
use crate::storage::Storage;
use crate::tensor::Tensor;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr;

/// Zeros in memory of the host that is pinned: what is copied from and to it is copied without the
/// processor, and without waiting for it.
///
/// # Errors
///
/// When there is not enough memory, or the shape can't be a tensor's.
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

/// Zeros in managed memory, which moves to whoever uses it: the processor and all GPUs.
///
/// # Errors
///
/// As of [`pinned`].
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
    deferred::collect();
    Tensor::check_zeros(shape, dtype)?;
    let bytes = crate::cuda::memory::array::bytes_of(shape, dtype)?;
    if bytes == 0 {
        return Ok(Tensor::from_storage(
            Storage::nothing_on(device),
            shape,
            dtype,
        )?);
    }
    let _entered = gpu.enter()?;
    let beside = beside_captures();
    let allocated = allocate(bytes).map_err(|error| match error.code() {
        Some(code) if code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32 => {
            CudaError::OutOfMemory { device, bytes }
        }
        _ => error,
    });
    drop(beside);
    let storage = Memory::reachable(allocated?, bytes, gpu, device);
    // SAFETY: new memory of that many bytes, which the processor reaches.
    unsafe { storage.data_mut().write_bytes(0, bytes) };
    Tensor::from_storage(storage, shape, dtype).map_err(Error::into)
}

/// Where memory is that the processor reaches, too, and how it is freed.
#[derive(Clone, Copy)]
pub(in crate::cuda) enum Place {
    Pinned(*mut c_void),
    Managed(sys::CUdeviceptr),
}

// SAFETY: an address, which the driver frees on any thread.
unsafe impl Send for Place {}
// SAFETY: a shared reference gives nothing.
unsafe impl Sync for Place {}

impl Place {
    pub(in crate::cuda) fn data(self) -> *mut u8 {
        match self {
            Self::Pinned(data) => data.cast(),
            Self::Managed(address) => ptr::with_exposed_provenance_mut(address as usize),
        }
    }
}

/// Memory that is freed when this is dropped.
pub(in crate::cuda) struct Reachable(Freeing);

impl Reachable {
    pub(in crate::cuda) fn new(gpu: Gpu, place: Place) -> Self {
        Self(Freeing { gpu, place })
    }
}

impl Drop for Reachable {
    fn drop(&mut self) {
        // Where the driver refuses, it is tried again.
        deferred::release(Box::new(self.0));
    }
}

#[derive(Clone, Copy)]
struct Freeing {
    gpu: Gpu,
    place: Place,
}

impl Release for Freeing {
    fn try_release(&mut self) -> Result<bool, CudaError> {
        let _entered = self.gpu.enter()?;
        let _beside = beside_captures();
        // SAFETY: it was allocated, no work uses it any more, and this is its end.
        unsafe {
            match self.place {
                Place::Pinned(data) => call!(cuMemFreeHost(data)),
                Place::Managed(address) => call!(cuMemFree_v2(address)),
            }
        }?;
        Ok(true)
    }
}

/// Waits until the work is done that uses a tensor's memory, so that the processor may use it by its address: what
/// this crate looks at it with, such as [`Tensor::view`], waits by itself. This is for what [`pinned`] and [`managed`]
/// made; of others' memory nothing is known, and what is on a GPU is [fetched](crate::cuda::fetch).
///
/// # Errors
///
/// When work failed, or a graph that is being captured uses the memory.
pub fn settle(tensor: &Tensor) -> Result<(), CudaError> {
    match keeper(tensor) {
        Some(memory) if tensor.device().is_host_accessible() => memory.settle(),
        _ => Ok(()),
    }
}
