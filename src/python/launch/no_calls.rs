//! Kernel calls in builds without CUDA, which need no stream order.

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
