//! Conversion of a framework's exception during an exchange to a `BufferError`.
//!
//! JAX raises a `RuntimeError` for an array that was deleted, PyArrow a `TypeError` for nulls,
//! TensorFlow errors of its own. Here each becomes a `BufferError`, with the framework's error as
//! its cause. What isn't about the exchange passes through: `MemoryError`, `RecursionError`,
//! `KeyboardInterrupt`, errors of classes that aren't a framework's.

use super::error::{caused, is_final, not_exchangeable};
use super::frameworks::{Framework, root_module};
use pyo3::exceptions::{
    PyBufferError, PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::{Borrowed, PyTypeInfo};

/// Returns the exception of an object's export.
#[cold]
pub(super) fn by_producer(object: Borrowed<'_, '_, PyAny>, error: PyErr) -> PyErr {
    let module = root_module(&object.get_type());
    match Framework::of_package(&module) {
        Some(_) => by_framework(object.py(), &module, "can't share", error),
        None => error,
    }
}

/// Returns what was raised when a framework was handed a tensor.
#[cold]
pub(super) fn by_consumer(py: Python<'_>, framework: &str, error: PyErr) -> PyErr {
    by_framework(py, framework, "can't take", error)
}

fn by_framework(py: Python<'_>, framework: &str, verb: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<PyBufferError>(py) || !is_refusal(py, &error) {
        return error;
    }
    let message = format!("{framework} {verb} the tensor: {}", error.value(py));
    caused(py, not_exchangeable(message), error)
}

/// Returns whether an exception is about the exchanged tensor.
#[cold]
pub(super) fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    let kind = error.get_type(py);
    let is_refusal = error.is_instance_of::<PyBufferError>(py)
        || [
            PyRuntimeError::type_object(py),
            PyNotImplementedError::type_object(py),
            PyTypeError::type_object(py),
            PyValueError::type_object(py),
        ]
        .iter()
        .any(|refusal| kind.is(refusal))
        || Framework::of_type(&kind).is_some();
    // A failing GPU says nothing of the tensor.
    let is_other = is_final(py, error) || root_module(&kind) == "dlbridge";
    is_refusal && !is_other
}
