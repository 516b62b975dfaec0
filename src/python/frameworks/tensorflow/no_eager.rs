//! Stand-in for `eager` without TensorFlow's C library: no further element types.

use crate::dtype::DType;
use crate::error::Incompatibility;
use crate::error::IncompatibilityKind as Kind;
use crate::python::error::not_exchangeable;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pub(super) fn may_have(_: DType) -> bool {
    false
}

pub(super) fn lacks(_: Python<'_>, _: &Tensor) -> PyResult<Option<Incompatibility>> {
    Ok(None)
}

pub(super) fn make<'py>(_: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let dtype = tensor.dtype();
    Err(not_exchangeable((
        Kind::DType,
        format!("TensorFlow has no {dtype}"),
    )))
}

pub(super) fn export<'py>(_: Borrowed<'_, 'py, PyAny>) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    Ok(None)
}
