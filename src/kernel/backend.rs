//! Backends: what calls of kernels on a kind of device need beside the kernel, supplied by the
//! floor of that device.

use super::error::Failure;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::storage::Storage;
use crate::tensor::Tensor;

/// Hooks around calls of kernels on a kind of device.
pub(crate) struct Backend {
    pub(crate) kind: DeviceKind,
    /// Makes a result, which isn't written yet, where it isn't the frame that makes it.
    pub(crate) make: Option<Make>,
    /// Runs the kernel in the right order with all other work on the arguments' memory.
    pub(crate) run: Run,
}

/// Shape, element type and device.
type Make = fn(&[usize], DType, Device) -> Result<Tensor, Failure>;

/// The storages that a call uses, as far as they are known, each with whether it is written.
pub(crate) type Uses<'a> = &'a [(&'a Storage, bool)];

/// The device, the memory, and what runs the kernel.
type Run = fn(Device, Uses<'_>, &mut Body<'_>) -> Result<(), Failure>;

/// Runs a kernel.
pub(crate) type Body<'a> = dyn FnMut() -> Result<(), Failure> + 'a;

inventory::collect!(Backend);

impl Backend {
    /// Returns the backend for a kind of device.
    pub(super) fn find(kind: DeviceKind) -> Option<&'static Self> {
        inventory::iter::<Self>().find(|backend| backend.kind == kind)
    }
}
