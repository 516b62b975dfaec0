//! Python, from where nobody knows whether this thread has it.

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Refuses to be imported by a subinterpreter: for the initialisation of modules that are also built
/// for Python 3.10 and 3.11. From 3.12 on, Python asks the module itself.
///
/// # Errors
///
/// An `ImportError` in any interpreter but the main one.
pub fn check_interpreter(_: Python<'_>) -> PyResult<()> {
    // SAFETY: the thread is attached, so there is a current interpreter.
    let id = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if id == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "dlbridge doesn't work in subinterpreters: what releases memory may run on any thread, and finds the main interpreter",
    ))
}

/// Runs a function with the GIL held. Where the interpreter is gone, or going, it doesn't.
///
/// PyO3 counts attachments by itself, and doesn't see when a library that is called meanwhile gives
/// the GIL up, as PyTorch does while it destroys tensors. Python itself does.
#[inline]
pub(super) fn with_python(function: impl FnOnce()) {
    // SAFETY: may be asked at any time.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return;
    }
    #[cfg(Py_3_13)]
    // SAFETY: as above.
    if unsafe { ffi::Py_IsFinalizing() } != 0 {
        return;
    }
    // SAFETY: there is an interpreter; what is taken is given back.
    unsafe {
        let state = ffi::PyGILState_Ensure();
        function();
        ffi::PyGILState_Release(state);
    }
}

/// For functions that Python calls past PyO3, which counts attachments: what was dropped in one that it didn't see it
/// keeps for the next one that it sees.
#[cold]
pub(super) fn release_what_was_dropped() {
    Python::attach(|_| ());
}
