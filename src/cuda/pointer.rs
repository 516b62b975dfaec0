//! Where an address is.

use super::driver::{call, count};
use super::error::CudaError;
use super::gpu::Gpu;
use crate::device::{Device, DeviceKind};
use cudarc::driver::sys;
use std::ffi::c_void;
use sys::CUmemorytype_enum as MemoryType;
use sys::CUpointer_attribute as Attribute;

/// A kind of memory that CUDA knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PointerKind {
    /// A GPU's own.
    Device,
    /// The host's, pinned.
    Pinned,
    /// Everybody's, moved to where it is used.
    Managed,
}

impl PointerKind {
    /// The kind of device that tensors with such memory have.
    pub fn device_kind(self) -> DeviceKind {
        match self {
            Self::Device => DeviceKind::Cuda,
            Self::Pinned => DeviceKind::CudaHost,
            Self::Managed => DeviceKind::CudaManaged,
        }
    }
}

/// The device whose memory is at an address.
///
/// # Errors
///
/// When CUDA knows nothing of it: the host's memory that isn't pinned, say.
pub fn device_of(address: *const u8) -> Result<Device, CudaError> {
    count()?;
    let mut kind = MemoryType::CU_MEMORYTYPE_HOST;
    let (mut id, mut is_managed) = (0_i32, 0_u32);
    let mut attributes = [
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
    ];
    let none = 0_u32;
    // What isn't known stays 0, which is no kind of memory; so it is asked for as a plain number.
    let mut raw_kind = none;
    let mut answers: [*mut c_void; 3] = [
        (&raw mut raw_kind).cast(),
        (&raw mut id).cast(),
        (&raw mut is_managed).cast(),
    ];
    // SAFETY: as many places as attributes, each as wide as the driver writes it.
    let mut ask = || unsafe {
        call!(cuPointerGetAttributes(
            attributes.len() as u32,
            attributes.as_mut_ptr(),
            answers.as_mut_ptr(),
            address.addr() as u64,
        ))
    };
    match ask() {
        // Drivers may want one, whichever that is.
        Err(error) if error.code() == Some(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT as u32) => {
            let _entered = Gpu::new(0)?.enter()?;
            ask()
        }
        answer => answer,
    }?;
    for known in [
        MemoryType::CU_MEMORYTYPE_HOST,
        MemoryType::CU_MEMORYTYPE_DEVICE,
    ] {
        if raw_kind == known as u32 {
            kind = known;
        }
    }
    if raw_kind == none || id < 0 {
        return Err(CudaError::UnknownAddress {
            address: address.addr(),
        });
    }
    let kind = match (is_managed != 0, kind) {
        (true, _) => PointerKind::Managed,
        (false, MemoryType::CU_MEMORYTYPE_DEVICE) => PointerKind::Device,
        _ => PointerKind::Pinned,
    };
    Ok(Device::new(kind.device_kind(), id))
}
