//! Options of an import: copy, device, purpose.

use crate::device::Device;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// What is wanted beyond the tensor itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// `Some(true)`: memory of its own; `Some(false)`: shared memory, or an error. `None`: shared
    /// memory wherever that is possible.
    pub copy: Option<bool>,
    /// The requested device.
    pub device: Option<Device>,
}

/// What a tensor is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Purpose {
    /// It may be kept for any time.
    Keep,
    /// It is copied or asked about, and dropped in the same call: PyTorch may resize its storage
    /// afterwards.
    Inspect,
    /// Only asked about: a capsule keeps what is in it.
    Ask,
}

/// Copies a tensor to another device.
pub(super) fn moved(tensor: &Tensor, device: Device, copy: Option<bool>) -> PyResult<Tensor> {
    if copy == Some(false) {
        let found = tensor.device().to_string();
        let reason = format!(
            "the tensor is on {found}, and getting it to {device} needs a copy, which copy=False forbids"
        );
        let error = Incompatibility::new(IncompatibilityKind::Copy, found, device.to_string());
        return Err(not_exchangeable(error.with_reason(reason)));
    }
    cuda::to_device(tensor, device)
}
