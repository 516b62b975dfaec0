//! Numba's GPU arrays, which have `__cuda_array_interface__` alone, and the objects that keep their
//! streams.

use crate::dlpack::python::intern;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Returns the stream object of an array, where the number is its handle; `None` for arrays of
/// others.
pub(super) fn stream_object<'py>(
    array: Borrowed<'_, 'py, PyAny>,
    handle: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    let module = modules.call_method1(intern!(py, "get"), ("numba.cuda.cudadrv.driver",))?;
    if module.is_none() {
        return Ok(None);
    }
    let Some(class) = module.getattr_opt(intern!(py, "Stream"))? else {
        return Ok(None);
    };
    let Some(stream) = array.getattr_opt(intern!(py, "stream"))? else {
        return Ok(None);
    };
    let is_stream = class
        .cast::<PyType>()
        .is_ok_and(|class| stream.get_type().is(class));
    let is_named = || -> PyResult<bool> {
        let its_handle = stream.call_method0(intern!(py, "__int__"))?;
        Ok(its_handle.extract::<usize>()? == handle)
    };
    Ok((is_stream && is_named()?).then_some(stream))
}
