//! TensorFlow's tensors that are not to be asked for a capsule.

use crate::dtype::DType;
use crate::python::error::not_exchangeable;
use crate::python::import::type_cache::root_module;
use pyo3::prelude::*;
use pyo3::{Borrowed, intern};

/// Refuses elements that DLPack hasn't: asked for those of strings, TensorFlow aborts the process.
pub(in crate::python) fn guard(object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
    let py = object.py();
    if root_module(&object.get_type()) != "tensorflow" {
        return Ok(());
    }
    let dtype = object
        .getattr(intern!(py, "dtype"))?
        .getattr(intern!(py, "name"))?;
    let name = dtype.extract::<String>()?;
    match name.parse::<DType>() {
        Ok(_) => Ok(()),
        Err(_) => Err(not_exchangeable(format!(
            "elements of TensorFlow's {name} are none that DLPack has"
        ))),
    }
}
