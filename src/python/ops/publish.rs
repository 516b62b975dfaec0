//! Ops of other extensions in the package `dlbridge`.

use super::kernel_rows::kernel_rows;
use super::{PyRecorder, op_function, set_num_threads};
use crate::kernel::{OpHandle, Registry};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::wrap_pyfunction;

/// Has `dlbridge.ops` know the ops that this extension registered, and `dlbridge.kernels()` list
/// their kernels: to be called when the extension's module is initialised. What comes with this
/// crate is left out, as the package has it already.
///
/// ```no_run
/// use pyo3::prelude::*;
///
/// #[pymodule]
/// mod my_ops {
///     use pyo3::prelude::*;
///
///     #[pymodule_init]
///     fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
///         dlbridge::python::publish_ops(module.py())
///     }
/// }
/// ```
///
/// # Errors
///
/// When the package isn't installed, or has another op of one of these names, or an op's
/// definition was refused.
pub fn publish_ops(py: Python<'_>) -> PyResult<()> {
    if let Some(error) = Registry::global().refused() {
        return Err(PyRuntimeError::new_err(error.to_string()));
    }
    let functions = PyDict::new(py);
    let kernels = PyList::empty(py);
    // What comes with this crate is in a module of it.
    let is_own = |handle: &OpHandle| {
        handle
            .origin()
            .starts_with(concat!(env!("CARGO_CRATE_NAME"), "::"))
    };
    for handle in Registry::global()
        .ops()
        .iter()
        .filter(|handle| !is_own(handle))
    {
        functions.set_item(handle.name(), op_function(py, handle)?)?;
    }
    for row in kernel_rows(py)? {
        if functions.contains(row.get_item("op")?)? {
            kernels.append(row)?;
        }
    }
    // This crate's copy in the extension has threads of its own.
    let set_num_threads = wrap_pyfunction!(set_num_threads, py)?;
    let recorder = py.get_type::<PyRecorder>();
    py.import("dlbridge.ops")?
        .call_method1("_adopt", (functions, kernels, recorder, set_num_threads))?;
    Ok(())
}
