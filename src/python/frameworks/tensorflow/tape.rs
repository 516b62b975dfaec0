//! Gradient tapes, which record eager calls.

use crate::dlpack::python::type_lookup;
use crate::python::borrows::Keep;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use pyo3::{Borrowed, intern};

/// TensorFlow's class of eager tensors, and its functions about tapes.
struct Tapes {
    class: Py<PyAny>,
    is_empty: Py<PyAny>,
    gradient_types: Py<PyAny>,
}

static TAPES: PyOnceLock<Tapes> = PyOnceLock::new();

/// Refuses a tensor whose calls TensorFlow records on a tape: its own op is called instead.
#[inline]
pub(in crate::python) fn refuse_recorded(
    op: &str,
    object: Borrowed<'_, '_, PyAny>,
    keep: &Keep,
) -> PyResult<()> {
    if matches!(keep, Keep::Object | Keep::Number | Keep::Owner { .. }) || !records(object)? {
        return Ok(());
    }
    let problem = "a gradient tape records its calls, and TensorFlow doesn't have this op";
    Err(PyBufferError::new_err(format!("{op}: {problem}")))
}

/// Returns whether an object is an eager tensor whose calls a tape records.
fn records(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let tapes = match TAPES.get(py) {
        Some(tapes) => tapes,
        None => {
            let name = type_lookup::type_name(&object.get_type());
            if name.as_deref() != Some("EagerTensor") {
                return Ok(false);
            }
            match find(py)? {
                Some(tapes) => TAPES.get_or_init(py, || tapes),
                None => return Ok(false),
            }
        }
    };
    if !object.get_type().is(&tapes.class) || tapes.is_empty.call0(py)?.is_truthy(py)? {
        return Ok(false);
    }
    let types = tapes.gradient_types.call1(py, ([object.to_owned()],))?;
    Ok(types.extract::<i64>(py)? != 0)
}

/// Finds the functions; `None` where there is no TensorFlow, or one without them.
#[cold]
fn find(py: Python<'_>) -> PyResult<Option<Tapes>> {
    let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
    let modules = modules.cast::<PyDict>()?;
    let module = |name| modules.get_item(name);
    let (Some(ops), Some(functions)) = (
        module("tensorflow.python.framework.ops")?,
        module("tensorflow.python.pywrap_tfe")?,
    ) else {
        return Ok(None);
    };
    let (Some(class), Some(is_empty), Some(gradient_types)) = (
        ops.getattr_opt("EagerTensor")?,
        functions.getattr_opt("TFE_Py_TapeSetIsEmpty")?,
        functions.getattr_opt("TFE_Py_TapeSetPossibleGradientTypes")?,
    ) else {
        return Ok(None);
    };
    Ok(Some(Tapes {
        class: class.unbind(),
        is_empty: is_empty.unbind(),
        gradient_types: gradient_types.unbind(),
    }))
}
