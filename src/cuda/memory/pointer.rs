//! Pointer attributes: the device and allocation of an address.

use crate::cuda::driver::answer::call;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::start::count;
use crate::device::{Device, DeviceKind};
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ops::Range;
use sys::CUpointer_attribute as Attribute;

/// A kind of memory that CUDA knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PointerKind {
    /// A GPU's own.
    Device,
    /// The host's, pinned.
    Pinned,
    /// Managed memory, which migrates to its user.
    Managed,
}

impl PointerKind {
    /// Returns the kind of device that tensors with such memory have.
    pub fn device_kind(self) -> DeviceKind {
        match self {
            Self::Device => DeviceKind::Cuda,
            Self::Pinned => DeviceKind::CudaHost,
            Self::Managed => DeviceKind::CudaManaged,
        }
    }
}

/// Returns the device whose memory is at an address.
///
/// # Errors
///
/// Fails if CUDA knows nothing of it: the host's memory that isn't pinned, say.
pub fn device_of(address: *const u8) -> Result<Device, CudaError> {
    Ok(Place::of(address.addr())?.device)
}

/// Returns the device in one of whose allocations a range of addresses lies, by the driver's
/// answers: for addresses that come from code which may be wrong.
///
/// Where the driver doesn't tell how far an allocation goes, both ends must be in the same one.
///
/// # Errors
///
/// Fails if CUDA knows nothing of it, or the range goes past an allocation's begin or end.
pub fn device_of_range(range: Range<usize>) -> Result<Device, CudaError> {
    let out_of_bounds = |allocation| CudaError::OutOfAllocation {
        range: range.clone(),
        allocation,
    };
    let last = || Place::of(range.end.saturating_sub(1));
    let first = match Place::of(range.start) {
        Err(error @ CudaError::UnknownAddress { .. }) => {
            return Err(last().map_or(error, |last| out_of_bounds(last.allocation)));
        }
        first => first?,
    };
    if let Some(allocation) = first.allocation {
        let is_inside = allocation.start <= range.start && range.end <= allocation.end;
        return match is_inside {
            true => Ok(first.device),
            false => Err(out_of_bounds(Some(allocation))),
        };
    }
    match last() {
        Ok(last) if last.device == first.device && last.buffer == first.buffer => Ok(first.device),
        _ => Err(out_of_bounds(None)),
    }
}

/// The driver's attributes of an address.
struct Place {
    device: Device,
    /// The allocation that it is in, where the driver tells.
    allocation: Option<Range<usize>>,
    /// The number of that allocation, which is unique in a process.
    buffer: u64,
}

impl Place {
    fn of(address: usize) -> Result<Self, CudaError> {
        count()?;
        let unknown = || CudaError::UnknownAddress { address };
        let mut attributes = [
            Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
            Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID,
        ];
        // Plain numbers, of which the driver may write any; what it doesn't know it leaves 0.
        let (mut kind, mut id, mut is_managed) = (0_u32, 0_i32, 0_u32);
        let (mut start, mut size, mut buffer) = (0_u64, 0_usize, 0_u64);
        let mut answers: [*mut c_void; 6] = [
            (&raw mut kind).cast(),
            (&raw mut id).cast(),
            (&raw mut is_managed).cast(),
            (&raw mut start).cast(),
            (&raw mut size).cast(),
            (&raw mut buffer).cast(),
        ];
        // SAFETY: `answers` has a place for each attribute, each as wide as the driver writes it.
        // The driver doesn't follow the address.
        let mut ask = || unsafe {
            call!(cuPointerGetAttributes(
                attributes.len() as u32,
                attributes.as_mut_ptr(),
                answers.as_mut_ptr(),
                address as u64,
            ))
        };
        match ask() {
            // Drivers may want one, whichever that is.
            Err(error)
                if error.code() == Some(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT as u32) =>
            {
                let _context = Gpu::new(0)?.enter()?;
                ask()
            }
            answer => answer,
        }?;
        let kind = match kind {
            _ if id < 0 => None,
            DEVICE if is_managed != 0 => Some(PointerKind::Managed),
            HOST if is_managed != 0 => Some(PointerKind::Managed),
            DEVICE => Some(PointerKind::Device),
            HOST => Some(PointerKind::Pinned),
            // Nothing that is known here.
            _ => None,
        };
        let kind = kind.ok_or_else(unknown)?;
        Ok(Self {
            device: Device::new(kind.device_kind(), id),
            allocation: (size > 0).then(|| start as usize..(start as usize).saturating_add(size)),
            buffer,
        })
    }
}

/// `CUmemorytype`, as the driver writes it.
const HOST: u32 = sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32;
const DEVICE: u32 = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32;
