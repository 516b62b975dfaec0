//! The `base` of an array that shares a tensor's memory, and keeps it.
//!
//! It is an object of a small type of its own: a capsule looks at its name each time, and an object
//! of a class is known to the garbage collector. As one is made for every array that is handed
//! over, it lies in the tensor itself where there is room, so that it takes no allocation.
//!
//! Gain: with an allocation of its own, handing a fresh buffer to NumPy takes 13% longer.

use crate::dlpack::contain_panics;
use crate::dlpack::python::FoundOnce;
use crate::dlpack::python::keeping_exception;
use crate::tensor::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};

/// In a tensor's room, which it gives up in the end.
#[repr(transparent)]
struct Guest(ffi::PyObject);

/// On its own, where the room is taken.
#[repr(C)]
struct Apart {
    head: ffi::PyObject,
    /// What [`Tensor::into_raw`] gave.
    tensor: NonNull<c_void>,
}

/// Returns an object that keeps a tensor.
#[inline]
pub(super) fn keep(py: Python<'_>, tensor: Tensor) -> PyResult<*mut ffi::PyObject> {
    static KIND: FoundOnce<Py<PyType>> = FoundOnce::new();
    let make_kind = || kind(py, c"dlbridge.Memory", size_of::<Guest>(), release_guest);
    let kind = KIND.get_or_try_find(py, make_kind)?;
    match tensor.embed::<Guest>() {
        // SAFETY: the room is large enough, and the object's until it is released.
        Ok(room) => Ok(unsafe { ffi::PyObject_Init(room.as_ptr().cast(), kind.as_ptr().cast()) }),
        Err(tensor) => keep_apart(py, tensor),
    }
}

#[cold]
fn keep_apart(py: Python<'_>, tensor: Tensor) -> PyResult<*mut ffi::PyObject> {
    static KIND: FoundOnce<Py<PyType>> = FoundOnce::new();
    let make_kind = || {
        kind(
            py,
            c"dlbridge.MemoryApart",
            size_of::<Apart>(),
            release_apart,
        )
    };
    let kind = KIND.get_or_try_find(py, make_kind)?;
    // SAFETY: a type whose objects are as large as `Apart`.
    let object = unsafe { ffi::PyObject_New::<Apart>(kind.as_ptr().cast()) };
    if object.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the object is new, and no other code's.
    unsafe { (&raw mut (*object).tensor).write(tensor.into_raw()) };
    Ok(object.cast())
}

/// Returns a type of objects that keep an array's memory, which Python code can't create.
#[cold]
pub(super) fn kind(
    py: Python<'_>,
    name: &'static CStr,
    size: usize,
    release: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<Py<PyType>> {
    let doc = c"Keeps the memory of an array.";
    let slot = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, release as *mut c_void),
        slot(ffi::Py_tp_doc, doc.as_ptr().cast_mut().cast()),
        slot(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: size as c_int,
        itemsize: 0,
        // All arrays rely on the type, so that Python code may not change it.
        flags: (ffi::Py_TPFLAGS_DEFAULT
            | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION
            | ffi::Py_TPFLAGS_IMMUTABLETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the specification is complete, and what it says is copied or stays.
    let kind = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)) };
    Ok(kind?.cast_into::<PyType>()?.unbind())
}

/// # Safety
///
/// Python calls it once, for an object that [`keep`] made.
unsafe extern "C" fn release_guest(object: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, attached, for an object of which no reference is left. `keep`
    // made it in the room of a tensor that it kept; its type has a reference of the object's to
    // give away.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        let tensor = Tensor::from_embedded(NonNull::new_unchecked(object.cast::<Guest>()));
        release(tensor, kind);
    }
}

/// # Safety
///
/// Python calls it once, for an object that [`keep_apart`] made.
#[cold]
unsafe extern "C" fn release_apart(object: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, attached, for an object of which no reference is left.
    // `keep_apart` made it with `PyObject_New`, which `PyObject_Free` undoes, and wrote what
    // `into_raw` gave into it; its type has a reference of the object's to give away.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        let tensor = Tensor::from_raw((*object.cast::<Apart>()).tensor);
        ffi::PyObject_Free(object.cast());
        release(tensor, kind);
    }
}

/// # Safety
///
/// The thread is attached, and has a reference to the type to give away.
#[inline(always)]
unsafe fn release(tensor: Tensor, kind: *mut ffi::PyTypeObject) {
    // SAFETY: the thread is attached, as Python calls both callers so, and the reference to the
    // type was the object's, which is gone.
    unsafe {
        keeping_exception(Python::assume_attached(), || {
            contain_panics(|| drop(tensor))
        });
        ffi::Py_DECREF(kind.cast());
    }
}
