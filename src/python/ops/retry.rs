//! Calls with tensors that their framework follows or traces: its own op is called instead.

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use pyo3::{Borrowed, ffi};

/// Calls the framework's own op, if an argument was refused that it can have; otherwise returns the
/// error, with a note where the framework can't have the op.
///
/// # Safety
///
/// The arguments are as `METH_FASTCALL | METH_KEYWORDS` has them.
#[cold]
pub(super) unsafe fn by_framework<'py>(
    py: Python<'py>,
    op: &str,
    (arguments, count, keywords): (*const *mut ffi::PyObject, usize, *mut ffi::PyObject),
    error: PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    // Some frameworks' symbols aren't tensors for other code.
    let is_tensor = error.is_instance_of::<PyBufferError>(py);
    if !is_tensor && !error.is_instance_of::<PyTypeError>(py) {
        return Err(error);
    }
    // SAFETY: there are `count` arguments, a tuple of keywords or none, and the keywords' values
    // behind the arguments.
    let (positional, named) = unsafe {
        let object = |at: usize| Borrowed::<PyAny>::from_ptr(py, *arguments.add(at)).to_owned();
        let keywords = Borrowed::from_ptr_or_opt(py, keywords);
        let keywords = keywords.map(|keywords| keywords.cast_unchecked::<PyTuple>());
        let named = PyDict::new(py);
        for (at, keyword) in keywords
            .iter()
            .flat_map(|keywords| keywords.iter())
            .enumerate()
        {
            named.set_item(keyword, object(count + at))?;
        }
        (PyTuple::new(py, (0..count).map(object))?, named)
    };
    let Ok(package) = py.import("dlbridge._hosts") else {
        return Err(error);
    };
    let result = package.call_method1("retry", (op, positional, named, is_tensor))?;
    if result.is_instance_of::<PyString>() {
        // Notes came with Python 3.11, and nothing else is lost without.
        let _ = error.value(py).call_method1("add_note", (result,));
        return Err(error);
    }
    match result.is(py.NotImplemented()) {
        true => Err(error),
        false => Ok(result),
    }
}
