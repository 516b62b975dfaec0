//! [`Pool`]: the memory pool for stream-ordered allocation on a GPU.

use crate::cuda::driver::answer::{ask, call};
use crate::cuda::driver::error::CudaError;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr;

/// A memory pool of our own, since the device's pool is shared with other code; NULL where the GPU
/// has none.
pub(in crate::cuda) struct Pool(sys::CUmemoryPool);

// SAFETY: a handle, which the driver takes on any thread.
unsafe impl Send for Pool {}
// SAFETY: the driver synchronises calls with the same pool.
unsafe impl Sync for Pool {}

impl Pool {
    pub(in crate::cuda) fn none() -> Self {
        Self(ptr::null_mut())
    }

    /// Creates a pool that keeps released memory, as allocating from the driver is slow.
    pub(in crate::cuda) fn new(id: i32) -> Result<Self, CudaError> {
        // SAFETY: all zeros are a value of this C struct.
        let mut wanted: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
        wanted.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        wanted.handleTypes = sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
        wanted.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        wanted.location.id = id;
        let mut pool = ptr::null_mut();
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        let mut all = u64::MAX;
        // SAFETY: the driver was started, and reads what is described here.
        unsafe { call!(cuMemPoolCreate(&mut pool, &wanted)) }?;
        let pool = Self(pool);
        // SAFETY: the pool was just created, and the attribute is an integer of this size.
        unsafe {
            call!(cuMemPoolSetAttribute(
                pool.0,
                threshold,
                (&raw mut all).cast::<c_void>()
            ))
        }?;
        Ok(pool)
    }

    /// Returns the driver's handle, if there is a pool.
    #[inline]
    pub(in crate::cuda) fn handle(&self) -> Option<sys::CUmemoryPool> {
        (!self.0.is_null()).then_some(self.0)
    }

    pub(in crate::cuda) fn trim(&self) -> Result<(), CudaError> {
        let Some(pool) = self.handle() else {
            return Ok(());
        };
        // SAFETY: the pool is there until this is dropped.
        unsafe { call!(cuMemPoolTrimTo(pool, 0)) }
    }
}

/// That of a GPU is kept for the process: this is for one whose GPU didn't open.
impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(pool) = self.handle() {
            // A failure can't be reported from here.
            // SAFETY: it was created, nothing was allocated from it, and this is its end.
            let _ = unsafe { ask!(cuMemPoolDestroy(pool)) };
        }
    }
}
