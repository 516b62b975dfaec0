//! What several rows ask.

use crate::device::{Device, DeviceKind};
use crate::dlpack::python::{Table, type_lookup};
use crate::python::error::not_exchangeable;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Returns the first part of the name of the module that a type says it is from.
pub(in crate::python) fn root_module(kind: &Bound<'_, PyType>) -> String {
    let module = type_lookup::module_name(kind).unwrap_or_default();
    module.split('.').next().unwrap_or_default().to_owned()
}

/// Returns the exchange table of a module's class `Tensor`, looked up once.
pub(super) fn table_of_class(
    py: Python<'_>,
    known: &'static PyOnceLock<Table>,
    module: &str,
) -> PyResult<Table> {
    let find = || {
        let kind = py.import(module)?.getattr(intern!(py, "Tensor"))?;
        Table::of_type(kind.cast::<PyType>()?).ok_or_else(|| {
            not_exchangeable(format!("this version of {module} has no exchange table"))
        })
    };
    known.get_or_try_init(py, find).copied()
}

/// Returns whether memory is pinned host memory, or managed memory.
pub(super) fn is_pinned_or_managed(device: Device) -> bool {
    use DeviceKind::{CudaHost, CudaManaged, RocmHost};
    matches!(device.kind(), CudaHost | CudaManaged | RocmHost)
}
