//! Numbers of threads from Python.

use super::attribute::read;
use crate::compute::threads::{self, MAX_THREADS};
use crate::python::error::{wrong_argument, wrong_value};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

/// Returns the number that an argument `threads` gives; 0 for `None`.
#[cold]
pub(super) fn number_of_threads(function: &str, value: Borrowed<'_, '_, PyAny>) -> PyResult<usize> {
    if value.is_none() {
        return Ok(0);
    }
    // `True` is an `int` for Python, and seldom meant as one.
    let is_bool = value.is_instance_of::<PyBool>();
    let number = read::<i64>(value)?.filter(|_| !is_bool);
    if number.is_none() && (is_bool || !value.is_instance_of::<PyInt>()) {
        let found = value.get_type().qualname()?.to_string();
        let reason = format!("{function}: expected an int for threads, got {found}");
        return Err(wrong_argument(found, "int", reason));
    }
    let number = number.and_then(|number| usize::try_from(number).ok());
    number
        .filter(|number| (1..=MAX_THREADS).contains(number))
        .ok_or_else(|| {
            let (found, wanted) = (value.to_string(), format!("1 to {MAX_THREADS}"));
            let reason = format!("{function}: expected {wanted} for threads, got {found}");
            wrong_value(found, wanted, reason)
        })
}

/// Sets how many threads a call of an op may use, in this process; None returns to the default.
///
/// The number of threads is the first of these that is given: the argument `threads` of the call;
/// the number set by this function, or by `dlbridge::compute::threads::set_num_threads` in Rust;
/// the environment variable `DLBRIDGE_NUM_THREADS`; the environment variable `OMP_NUM_THREADS`;
/// the CPUs that the process may use, by its affinity and its control group.
#[pyfunction]
#[pyo3(name = "_set_num_threads", signature = (threads, /), text_signature = "(threads, /)")]
pub fn set_num_threads(threads: &Bound<'_, PyAny>) -> PyResult<()> {
    threads::set_num_threads(number_of_threads("set_num_threads", threads.as_borrowed())?);
    Ok(())
}

/// Returns how many threads a call of an op may use, if it doesn't say so itself.
#[pyfunction]
pub fn num_threads() -> usize {
    threads::num_threads()
}
