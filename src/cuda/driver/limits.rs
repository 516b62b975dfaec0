//! [`Limits`]: maximal grid, block, shared memory and row pitch of a GPU.

use crate::cuda::driver::error::CudaError;
use cudarc::driver::sys::CUdevice_attribute as Attribute;

/// How many blocks a grid can have along each axis, and how many threads a block; and how many
/// bytes apart rows can be.
#[derive(Debug, Clone, Copy)]
pub(in crate::cuda) struct Limits {
    pub(in crate::cuda) grid: [u32; 3],
    pub(in crate::cuda) block: [u32; 3],
    pub(in crate::cuda) pitch: usize,
    /// How many bytes of shared memory a block can have, where its kernel is allowed that.
    pub(in crate::cuda) shared: u32,
}

impl Limits {
    /// Returns what a GPU answers when it is asked.
    pub(in crate::cuda) fn ask(
        ask: impl Fn(Attribute) -> Result<i32, CudaError>,
    ) -> Result<Self, CudaError> {
        let ask = |attribute| ask(attribute).map(i32::unsigned_abs);
        Ok(Self {
            grid: [
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            block: [
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            pitch: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_PITCH)? as usize,
            shared: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        })
    }
}
