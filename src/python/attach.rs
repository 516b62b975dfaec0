//! Python, from where nobody knows whether this thread has it.

use pyo3::ffi;

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
