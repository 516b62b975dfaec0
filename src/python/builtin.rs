//! Built-in functions that Python calls without PyO3's argument parsing.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::{CString, c_int};

/// How they take their arguments.
pub(super) const CALLED: c_int = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;

/// Returns a built-in function with a name and a text, which starts with the signature: Python
/// looks for one in the first lines. The object is what it gets as its first argument, and its
/// `__self__`.
///
/// # Errors
///
/// When a text has a zero in it, or Python no memory.
pub(super) fn builtin<'py>(
    (name, doc): (&str, String),
    call: ffi::PyCFunctionFastWithKeywords,
    object: &Bound<'py, PyAny>,
    module: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // Python keeps the pointers for as long as the function lives, and functions are made once.
    let text = |text: CString| Box::leak(text.into_boxed_c_str()).as_ptr();
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: text(CString::new(name)?),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: call,
        },
        ml_flags: CALLED,
        ml_doc: text(CString::new(doc)?),
    }));
    // SAFETY: the definition stays, and takes its arguments as it says; the function takes
    // references of its own.
    unsafe {
        let function = ffi::PyCFunction_NewEx(definition, object.as_ptr(), module.as_ptr());
        Bound::from_owned_ptr_or_err(object.py(), function)
    }
}
