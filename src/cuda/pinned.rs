//! Memory of the host that GPUs reach: pinned, and managed.

use super::driver::call;
use super::error::CudaError;
use super::gpu::Gpu;
use super::later::{self, Release};
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::error::Error;
use crate::storage::{Access, Storage};
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
        Ok((data, Kind::Pinned))
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
        Ok((
            ptr::with_exposed_provenance_mut(address as usize),
            Kind::Managed,
        ))
    })
}

fn host(
    shape: &[usize],
    dtype: DType,
    gpu: Gpu,
    device: Device,
    allocate: impl FnOnce(usize) -> Result<(*mut c_void, Kind), CudaError>,
) -> Result<Tensor, CudaError> {
    later::collect();
    Tensor::check_zeros(shape, dtype)?;
    let bytes = super::array::bytes_of(shape, dtype)?;
    if bytes == 0 {
        return Ok(Tensor::from_storage(
            Storage::nothing_on(device),
            shape,
            dtype,
        )?);
    }
    let _entered = gpu.enter()?;
    let allocated = allocate(bytes).map_err(|error| match error.code() {
        Some(code) if code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32 => {
            CudaError::OutOfMemory { device, bytes }
        }
        _ => error,
    });
    let (data, kind) = allocated?;
    let owner = Owner(Some(Reachable { gpu, kind, data }));
    // SAFETY: new memory of that many bytes, which the processor reaches.
    unsafe { data.cast::<u8>().write_bytes(0, bytes) };
    // SAFETY: it is there until the owner is dropped, and nobody else has it.
    let storage = unsafe { Storage::kept_by(data.cast(), bytes, device, Access::Exclusive, owner) };
    Tensor::from_storage(storage, shape, dtype).map_err(Error::into)
}

/// The owner; what it has goes with it.
struct Owner(Option<Reachable>);

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(memory) = self.0.take() {
            later::release(Box::new(memory));
        }
    }
}

/// Memory that the host reaches.
struct Reachable {
    gpu: Gpu,
    kind: Kind,
    data: *mut c_void,
}

#[derive(Clone, Copy)]
enum Kind {
    Pinned,
    Managed,
}

// SAFETY: plain memory, which the driver frees on any thread.
unsafe impl Send for Reachable {}
// SAFETY: a shared reference gives nothing.
unsafe impl Sync for Reachable {}

impl Release for Reachable {
    fn try_release(&mut self) -> Result<bool, CudaError> {
        let _entered = self.gpu.enter()?;
        // SAFETY: it was allocated, and this is its end: copies of ours keep it until they were made, and the
        // driver waits for the rest.
        unsafe {
            match self.kind {
                Kind::Pinned => call!(cuMemFreeHost(self.data)),
                Kind::Managed => call!(cuMemFree_v2(self.data.addr() as u64)),
            }
        }?;
        Ok(true)
    }
}
