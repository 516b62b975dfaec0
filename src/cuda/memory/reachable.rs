//! [`Reachable`]: an allocation of pinned or managed memory, freed on drop.

use crate::cuda::driver::answer::call;
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::stream::deferred::{self, Release};
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr;

/// Where memory is that the CPU reaches, too, and how it is freed.
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
        let _context = self.gpu.enter()?;
        let _relaxed = relax_capture_mode();
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
