//! TensorFlow's own functions for DLPack.

use super::super::dtypes::{is_common, is_complex, is_wide_unsigned};
use crate::dlpack::python::intern;
use crate::dtype::DType;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Returns whether TensorFlow's DLPack has such elements.
pub(super) fn has_dtype(dtype: DType) -> bool {
    // Lanes it doesn't look at.
    is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype) || dtype == DType::BF16
}

pub(super) fn to_dlpack<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let py = object.py();
    let capsule = module(py)?.call_method1(intern!(py, "to_dlpack"), (object,))?;
    Ok(capsule.cast_into()?)
}

/// Imports a capsule. TensorFlow's tensors never change: it counts memory that came from elsewhere
/// as not its own, which no operation uses again for its result.
pub(super) fn from_dlpack<'py>(
    py: Python<'py>,
    capsule: Bound<'py, PyCapsule>,
) -> PyResult<Bound<'py, PyAny>> {
    module(py)?.call_method1(intern!(py, "from_dlpack"), (capsule,))
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "tensorflow"))?
        .getattr(intern!(py, "experimental"))?
        .getattr(intern!(py, "dlpack"))
}
