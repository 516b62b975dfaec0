//! JAX, of which not all versions can be told that memory is read-only.

use super::hand_over::unmarked_capsule;
use super::needs::Misfit;
use crate::dtype::DType;
use crate::python::class::PyTensor;
use crate::python::cuda;
use crate::tensor::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

/// Why JAX would have other numbers than it is given, if it would.
pub(super) fn jax_narrows(py: Python<'_>, tensor: &Tensor) -> PyResult<Option<Misfit>> {
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

pub(super) fn to_jax(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let object = match tensor.is_read_only() {
        true => Bound::new(py, ForJax(PyTensor::from(tensor)))?.into_any(),
        false => tensor.into_pyobject(py)?.into_any(),
    };
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "copy"), false)?;
    py.import(intern!(py, "jax"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method(intern!(py, "from_dlpack"), (object,), Some(&keywords))
}

/// A read-only tensor: before version 0.12, JAX asks for a capsule of the kind that can't say that.
#[pyclass(frozen, module = "dlbridge")]
struct ForJax(PyTensor);

#[pymethods]
impl ForJax {
    #[pyo3(signature = (*, stream=None, max_version=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyInt>>,
        max_version: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if max_version.is_some() {
            let keywords = PyDict::new(py);
            keywords.set_item(intern!(py, "stream"), stream)?;
            keywords.set_item(intern!(py, "max_version"), max_version)?;
            let tensor = self.0.inner().clone().into_pyobject(py)?;
            return tensor.call_method(intern!(py, "__dlpack__"), (), Some(&keywords));
        }
        cuda::ordered(self.0.inner(), stream)?;
        // SAFETY: JAX's arrays never change, and what came from elsewhere isn't used again when an array is donated.
        let capsule = unsafe { unmarked_capsule(py, self.0.inner().clone()) }?;
        Ok(capsule.into_any())
    }

    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.0.inner().clone().into_pyobject(py)?;
        tensor.call_method0(intern!(py, "__dlpack_device__"))
    }
}
