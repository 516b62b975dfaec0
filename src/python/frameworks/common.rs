//! Queries that several rows share.

use super::constraints::Arranged;
use super::dtypes::is_common_number;
use crate::device::{Device, DeviceKind};
use crate::dlpack::python::{intern, type_lookup};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyType};

/// Returns the first part of the name of the module that a type says it is from.
pub(in crate::python) fn root_module(kind: &Bound<'_, PyType>) -> String {
    let module = type_lookup::module_name(kind).unwrap_or_default();
    module.split('.').next().unwrap_or_default().to_owned()
}

/// Returns whether every release of PyTorch or Paddle with an exchange table has what a tensor is.
#[inline]
pub(super) fn is_plain(tensor: &Tensor) -> bool {
    is_common_number(tensor.dtype())
        && tensor.device() == Device::CPU
        && !tensor.is_read_only()
        && tensor.rank() <= 8
        && Arranged::Forwards.accepts(tensor)
}

/// Imports a legacy capsule by a module's function `utils.dlpack.from_dlpack`.
pub(super) fn from_capsule<'py>(
    module: &Bound<'py, PyString>,
    capsule: Bound<'py, PyCapsule>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = module.py();
    py.import(module)?
        .getattr(intern!(py, "utils"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method1(intern!(py, "from_dlpack"), (capsule,))
}

/// Returns whether memory is pinned host memory, or managed memory.
pub(super) fn is_pinned_or_managed(device: Device) -> bool {
    use DeviceKind::{CudaHost, CudaManaged, RocmHost};
    matches!(device.kind(), CudaHost | CudaManaged | RocmHost)
}
