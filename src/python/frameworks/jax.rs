//! JAX: what it narrows, and its import.

use crate::dtype::DType;
use crate::python::export::hand_over::importable;
use crate::python::frameworks::constraints::Misfit;
use crate::tensor::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Why JAX would have other numbers than it is given, if it would.
pub(in crate::python) fn jax_narrows(py: Python<'_>, tensor: &Tensor) -> PyResult<Option<Misfit>> {
    let dtype = tensor.dtype();
    if !matches!(dtype, DType::I64 | DType::U64 | DType::F64 | DType::C128) {
        return Ok(None);
    }
    let config = py
        .import(intern!(py, "jax"))?
        .getattr(intern!(py, "config"))?;
    let is_wide = config.getattr(intern!(py, "jax_enable_x64"))?.is_truthy()?;
    let why = || Misfit::for_good(format!("JAX would narrow {dtype}; set jax_enable_x64"));
    Ok((!is_wide).then(why))
}

pub(in crate::python) fn to_jax(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    // JAX's arrays never change, and what came from elsewhere isn't used again when an array is donated.
    let object = importable(py, tensor)?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "copy"), false)?;
    py.import(intern!(py, "jax"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method(intern!(py, "from_dlpack"), (object,), Some(&keywords))
}
