//! Python from threads that may be detached.

use super::releaser::{attach_and, push};
use crate::dlpack::is_in_deleter;
use crate::dlpack::python::{interpreter, keeping_exception};
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;

/// Refuses to be imported by a subinterpreter: for the initialisation of modules that are also
/// built for Python 3.10 and 3.11. From 3.12 on, Python asks the module itself.
///
/// # Errors
///
/// An `ImportError` in any interpreter but the main one.
pub fn check_interpreter(_: Python<'_>) -> PyResult<()> {
    // PyO3 notes that there is an interpreter: at its end, the first look would find none.
    Python::initialize();
    // SAFETY: the thread is attached, so there is a current interpreter.
    let id = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    if id == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "dlbridge doesn't work in subinterpreters: what releases memory may run on any thread, and finds the main interpreter",
    ))
}

/// Releases something that needs Python: at once on a thread that is attached, else soon, through
/// the queue of [`releaser`](super::releaser). Once the interpreter is finalizing, nothing is
/// released.
///
/// So Rust code that isn't attached never waits for the GIL, whichever locks it holds. The one
/// exception is a deleter that a framework calls on a thread of Python's which gave the GIL up
/// meanwhile, as PyTorch does in `del tensor`: like NumPy's own deleter it takes the GIL back, so
/// that the memory is released when `del` returns.
#[inline]
pub(super) fn release(release: impl FnOnce() + Send + 'static) {
    if may_release() {
        // SAFETY: Python says that this thread is attached.
        let py = unsafe { Python::assume_attached() };
        return keeping_exception(py, release);
    }
    let takes_the_gil = match interpreter::is_attached() {
        Some(_) => !DEFERS.get() && is_in_deleter() && interpreter::is_of_python(),
        None => !DEFERS.get(),
    };
    if takes_the_gil {
        attach_and(release);
    } else {
        push(release);
    }
}

/// Returns whether [`release`] releases here and now.
#[inline]
pub(super) fn may_release() -> bool {
    !DEFERS.get() && interpreter::is_attached() == Some(true)
}

thread_local! {
    /// Whether this thread is inside of a function that must not call other libraries.
    static DEFERS: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function in which nothing is released that may run foreign code: that is done soon, by
/// another thread.
pub(super) fn deferring_releases(function: impl FnOnce()) {
    let before = DEFERS.replace(true);
    function();
    DEFERS.set(before);
}

/// Releases what PyO3 deferred, for functions that Python calls past PyO3: it doesn't know of their
/// attachment, and keeps what was dropped in it for its next one.
#[cold]
pub(super) fn release_what_was_dropped() {
    Python::try_attach(|_| ());
}
