//! Universal functions of NumPy, made of elementwise ops by its C functions.

use super::{PyOp, describe};
use crate::dlpack::python::interpreter;
use crate::dtype::DType;
use crate::hosts::numpy::{FailureKind, Function, Loop, LoopError, run_loop};
use crate::python::error;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use pyo3::{Bound, ffi};
use std::ffi::{CString, c_char, c_int, c_void};

/// `PyUFunc_FromFuncAndData`: functions, their data, types, how many loops, inputs and outputs,
/// the identity, name, text, and a number that isn't used.
type FromFuncAndData = unsafe extern "C" fn(
    *mut Function,
    *const *mut c_void,
    *const c_char,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_char,
    *const c_char,
    c_int,
) -> *mut ffi::PyObject;

/// Where that is in the table of NumPy's C functions for universal functions.
const FROM_FUNC_AND_DATA: usize = 1;
/// `PyUFunc_None`: reductions of nothing are an error.
const NO_IDENTITY: c_int = -1;

#[pymethods]
impl PyOp {
    /// Returns the universal function of an op: of a loop for each list of dtypes and NumPy's
    /// numbers of them, for inputs and outputs. `api` is NumPy's `_UFUNC_API`.
    fn _ufunc<'py>(
        &self,
        py: Python<'py>,
        api: &Bound<'py, PyCapsule>,
        loops: Vec<Vec<(DType, c_char)>>,
        attributes: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let definition = self.handle.definition();
        let attributes = describe::attributes(&self.handle, attributes)?;
        let (mut functions, mut data, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for dtypes in &loops {
            let of = dtypes.iter().map(|(dtype, _)| *dtype).collect();
            let one = Loop::new(self.handle.clone(), of, attributes.clone(), raise);
            data.push(one.map_err(PyRuntimeError::new_err)?);
            functions.push(run_loop as Function);
            types.extend(dtypes.iter().map(|(_, number)| *number));
        }
        if loops.is_empty() {
            return Err(PyRuntimeError::new_err("expected a loop"));
        }
        let table = api.pointer_checked(None)?.as_ptr().cast::<*const c_void>();
        let (inputs, all) = (definition.given(), definition.parameters().count());
        let name = CString::new(self.handle.name())?;
        let text = CString::new(definition.documentation())?;
        let count = loops.len() as c_int;
        // Universal functions may be kept for ever, and hold no references to what they are of.
        let data = data
            .into_iter()
            .map(|one| Box::into_raw(Box::new(one)).cast());
        let data: Vec<*mut c_void> = data.collect();
        // SAFETY: NumPy's table has this function at this place in all of its releases. What it
        // gets is never freed, and as long as the numbers say; the thread is attached.
        unsafe {
            let make: FromFuncAndData = std::mem::transmute(*table.add(FROM_FUNC_AND_DATA));
            let made = make(
                functions.leak().as_mut_ptr(),
                data.leak().as_ptr(),
                types.leak().as_ptr(),
                count,
                inputs as c_int,
                (all - inputs) as c_int,
                NO_IDENTITY,
                name.into_raw(),
                text.into_raw(),
                0,
            );
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}

/// Raises an exception in a loop. NumPy looks for one when its loops are done, and the first stays.
fn raise(failed: LoopError) {
    let LoopError { kind, text, error } = failed;
    let with_fields = |error| {
        Python::try_attach(|py| {
            if !PyErr::occurred(py) {
                error::of_call(error).restore(py);
            }
        })
    };
    if error.and_then(with_fields).is_some() {
        return;
    }
    // While Python ends, exceptions have no fields: none is attached then.
    let raise = |py: Python<'_>| {
        if PyErr::occurred(py) {
            return;
        }
        let error = match kind {
            FailureKind::Type => PyTypeError::new_err(text),
            FailureKind::Value => PyValueError::new_err(text),
            FailureKind::Index => PyIndexError::new_err(text),
            FailureKind::Other => PyRuntimeError::new_err(text),
        };
        error.restore(py);
    };
    match interpreter::is_attached() {
        // SAFETY: Python says that this thread is attached. PyO3 attaches none while Python ends.
        Some(true) => raise(unsafe { Python::assume_attached() }),
        _ => Python::attach(raise),
    }
}
