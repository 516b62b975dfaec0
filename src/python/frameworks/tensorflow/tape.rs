//! Gradient tapes, which record eager calls.

use crate::dlpack::python::type_lookup;
use crate::dlpack::python::{FoundOnce, intern};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{Borrowed, ffi};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// TensorFlow's class of eager tensors, and its functions about tapes.
struct Tapes {
    class: Py<PyAny>,
    is_empty: Py<PyAny>,
    gradient_types: Py<PyAny>,
}

/// Looked up once there was an eager tensor.
static TAPES: FoundOnce<Option<Tapes>> = FoundOnce::new();

/// Types of tensors that aren't TensorFlow's, to each of which a reference is held for good.
static OTHERS: [AtomicPtr<ffi::PyTypeObject>; 8] = [const { AtomicPtr::new(ptr::null_mut()) }; 8];

/// Refuses tensors whose calls TensorFlow records on a tape: its own op is called instead.
#[inline]
pub(in crate::python) fn refuse_recorded<'a, 'py: 'a>(
    py: Python<'py>,
    op: &str,
    tensors: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
) -> PyResult<()> {
    let mut eager = tensors.filter(|tensor| is_eager_tensor(*tensor));
    let Some(first) = eager.next() else {
        return Ok(());
    };
    let Some(tapes) = tapes(py)? else {
        return Ok(());
    };
    if tapes.is_empty.call0(py)?.is_truthy(py)? {
        return Ok(());
    }
    let tensors = PyList::new(py, std::iter::once(first).chain(eager).collect::<Vec<_>>())?;
    let types = tapes.gradient_types.call1(py, (tensors,))?;
    if types.extract::<i64>(py)? == 0 {
        return Ok(());
    }
    let problem = "a gradient tape records its calls, and TensorFlow doesn't have this op";
    Err(PyBufferError::new_err(format!("{op}: {problem}")))
}

/// Returns whether an object is one of TensorFlow's eager tensors.
fn is_eager_tensor(object: Borrowed<'_, '_, PyAny>) -> bool {
    // SAFETY: an object, which has a type.
    let kind = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    if let Some(Some(tapes)) = TAPES.get(object.py()) {
        return tapes.class.as_ptr() == kind.cast();
    }
    let mut others = OTHERS.iter().map(|other| other.load(Ordering::Relaxed));
    if others.any(|other| other == kind) {
        return false;
    }
    is_named_eager_tensor(object, kind)
}

#[cold]
fn is_named_eager_tensor(object: Borrowed<'_, '_, PyAny>, kind: *mut ffi::PyTypeObject) -> bool {
    if type_lookup::type_name(&object.get_type()).as_deref() == Some("EagerTensor") {
        return true;
    }
    let kept = object.get_type();
    for other in &OTHERS {
        let free = ptr::null_mut();
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        match other.compare_exchange(free, kind, success, failure) {
            Ok(_) => {
                // Without a reference, another type could come to be at the same address.
                let _ = kept.into_ptr();
                break;
            }
            Err(known) if known == kind => break,
            Err(_) => {}
        }
    }
    false
}

/// Returns TensorFlow's functions; `None` where there is none, or one without them.
fn tapes(py: Python<'_>) -> PyResult<Option<&Tapes>> {
    TAPES.get_or_try_find(py, || find(py)).map(Option::as_ref)
}

#[cold]
fn find(py: Python<'_>) -> PyResult<Option<Tapes>> {
    let modules = py.import("sys")?.getattr(intern!(py, "modules"))?;
    let modules = modules.cast::<PyDict>()?;
    let module = |name| modules.get_item(name);
    let (Some(ops), Some(functions)) = (
        module("tensorflow.python.framework.ops")?,
        module("tensorflow.python.pywrap_tfe")?,
    ) else {
        return Ok(None);
    };
    let (Some(class), Some(is_empty), Some(gradient_types)) = (
        ops.getattr_opt("EagerTensor")?,
        functions.getattr_opt("TFE_Py_TapeSetIsEmpty")?,
        functions.getattr_opt("TFE_Py_TapeSetPossibleGradientTypes")?,
    ) else {
        return Ok(None);
    };
    Ok(Some(Tapes {
        class: class.unbind(),
        is_empty: is_empty.unbind(),
        gradient_types: gradient_types.unbind(),
    }))
}
