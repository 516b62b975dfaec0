//! Fast path of `from_dlpack` with one argument.
//!
//! A function of PyO3's reads keywords, and counts how often the thread attached, where there are
//! none, and the thread is attached anyway. What is called with one argument alone, and finds a
//! tensor in it in one of the quick ways, goes without; all else is the function's that PyO3 made.
//!
//! Gain: without it `from_dlpack` takes 42% longer for NumPy, 31% for PyTorch.

use crate::dlpack::python::{FoundOnce, intern};
use crate::python::attach::release_what_was_dropped;
use crate::python::builtin::{CALLED, builtin};
use crate::python::tensor_object::PyTensor;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use pyo3::{Borrowed, ffi};
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The fallback, which is never released.
struct Else {
    function: ffi::PyCFunctionFastWithKeywords,
    slf: *mut ffi::PyObject,
    _kept: Py<PyAny>,
}

// SAFETY: the function belongs to no thread, and the object is only passed to it, by a thread that
// is attached.
unsafe impl Send for Else {}
// SAFETY: nothing in it changes; a shared reference gives the function and the object to a thread
// that is attached, and `_kept` is `Sync`.
unsafe impl Sync for Else {}

static ELSE: FoundOnce<Else> = FoundOnce::new();

impl Else {
    /// Returns a built-in function, if it takes its arguments as [`call`] does.
    fn of(function: &Bound<'_, PyAny>) -> Option<Self> {
        let pointer = function.as_ptr();
        // SAFETY: its type is checked before its fields are read. The flags tell the
        // function's type.
        unsafe {
            if ffi::PyCFunction_Check(pointer) == 0 || ffi::PyCFunction_GetFlags(pointer) != CALLED
            {
                return None;
            }
            let found = ffi::PyCFunction_GetFunction(pointer)?;
            Some(Self {
                function: transmute::<ffi::PyCFunction, ffi::PyCFunctionFastWithKeywords>(found),
                slf: ffi::PyCFunction_GetSelf(pointer),
                _kept: function.clone().unbind(),
            })
        }
    }
}

/// Replaces a module's `from_dlpack(x, /, *, device=None, copy=None)`, which calls
/// [`PyTensor::from_object`], by a fast path.
///
/// # Errors
///
/// When the module has no such function.
pub fn fastcall(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let name = intern!(py, "from_dlpack");
    let function = module.getattr(name)?;
    let Some(by_pyo3) = Else::of(&function) else {
        return Ok(());
    };
    ELSE.get_or_find(py, || by_pyo3);
    let text = |attribute| -> PyResult<String> { function.getattr(attribute)?.extract() };
    let doc = format!(
        "{name}{}\n--\n\n{}",
        text("__text_signature__")?,
        text("__doc__")?
    );
    let quick = builtin(("from_dlpack", doc), call, module, &module.name()?)?;
    module.setattr(name, quick)
}

/// Returns the function that Python calls.
///
/// # Safety
///
/// The arguments are as `METH_FASTCALL | METH_KEYWORDS` has them.
unsafe extern "C" fn call(
    _module: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls its functions on threads that are attached.
    let py = unsafe { Python::assume_attached() };
    if count == 1 && keywords.is_null() {
        // SAFETY: there is one argument, which the caller keeps.
        let object = unsafe { Borrowed::from_ptr(py, *arguments) };
        // The fallback below finds another path, or the error.
        match catch_unwind(AssertUnwindSafe(|| PyTensor::quick(object))) {
            Ok(Some(Ok(tensor))) => return tensor.into_ptr(),
            Ok(Some(Err(error))) => {
                error.restore(py);
                release_what_was_dropped();
                return std::ptr::null_mut();
            }
            Ok(None) | Err(_) => {}
        }
    }
    release_what_was_dropped();
    match ELSE.get(py) {
        // SAFETY: the arguments are as they came, and the function takes such.
        Some(by_pyo3) => unsafe { (by_pyo3.function)(by_pyo3.slf, arguments, count, keywords) },
        None => unreachable!("it was found before this function was made"),
    }
}
