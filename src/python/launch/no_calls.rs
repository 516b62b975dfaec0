//! Calls of kernels where dlbridge is built without CUDA: nothing is to be ordered.

use crate::python::argument::BorrowedArg;
use pyo3::prelude::*;

/// Calls a kernel.
pub(in crate::python) fn run<'py, R, E>(
    _: Python<'py>,
    _: &[Option<BorrowedArg<'py>>],
    call: impl FnOnce() -> Result<R, E>,
) -> PyResult<R>
where
    PyErr: From<E>,
{
    Ok(call()?)
}
