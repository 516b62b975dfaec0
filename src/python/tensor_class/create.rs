//! Objects of the class, made in few steps.
//!
//! PyO3 asks the base class for its constructor, and that one the type for memory, which is a tenth of what it
//! takes to import an array. What comes of it is memory that is zero but for its head and the value. Whether that
//! is so is looked at once, in an object that PyO3 made; then the others are made like it.

use super::PyTensor;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, ffi};
use std::mem::offset_of;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What objects of the class are like.
struct Form {
    kind: *mut ffi::PyTypeObject,
    allocate: ffi::allocfunc,
    /// How many words it has behind the value.
    rest: usize,
}

/// NULL before it is known.
static FORM: AtomicPtr<Form> = AtomicPtr::new(ptr::null_mut());

/// The value is what comes first.
#[repr(C)]
struct Object {
    head: ffi::PyObject,
    value: PyTensor,
    rest: [usize; 0],
}

/// An object of a value.
#[inline]
pub(in crate::python) fn create(py: Python<'_>, value: PyTensor) -> PyResult<Bound<'_, PyTensor>> {
    // SAFETY: NULL, or what was leaked after it was written.
    let Some(form) = (unsafe { FORM.load(Ordering::Acquire).as_ref() }) else {
        return by_pyo3(py, value);
    };
    // SAFETY: the thread is attached. The memory is as large as the type says, and nobody else's; it becomes what it
    // is in other objects.
    unsafe {
        let object = (form.allocate)(form.kind, 0);
        if object.is_null() {
            return Err(PyErr::fetch(py));
        }
        let fields = object.cast::<Object>();
        (&raw mut (*fields).value).write(value);
        let rest = (&raw mut (*fields).rest).cast::<usize>();
        for word in 0..form.rest {
            rest.add(word).write(0);
        }
        Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
    }
}

#[cold]
fn by_pyo3(py: Python<'_>, value: PyTensor) -> PyResult<Bound<'_, PyTensor>> {
    let object = Bound::new(py, value)?;
    // Python may be out of memory when it is to say the size.
    if let Ok(Some(form)) = Form::of(&object) {
        // Another thread may have been faster; then there are two, of which one is lost.
        FORM.store(Box::into_raw(Box::new(form)), Ordering::Release);
    }
    Ok(object)
}

impl Form {
    /// That of an object, if it is zero but for its head and the value.
    fn of(object: &Bound<'_, PyTensor>) -> PyResult<Option<Self>> {
        let size: usize = object.get_type().getattr("__basicsize__")?.extract()?;
        let kind = PyTensor::type_object_raw(object.py());
        // SAFETY: every type has this slot, which is a function of this type.
        let allocate = unsafe {
            let allocate = ffi::PyType_GetSlot(kind, ffi::Py_tp_alloc);
            std::mem::transmute::<*mut std::ffi::c_void, Option<ffi::allocfunc>>(allocate)
        };
        let place = ptr::from_ref(object.get()).addr() - object.as_ptr().addr();
        let rest = size.checked_sub(size_of::<Object>());
        let rest = rest.filter(|rest| rest.is_multiple_of(size_of::<usize>()));
        let (Some(allocate), Some(rest)) = (allocate, rest) else {
            return Ok(None);
        };
        let rest = rest / size_of::<usize>();
        if place != offset_of!(Object, value) {
            return Ok(None);
        }
        // SAFETY: the object has that many bytes.
        let words = unsafe {
            let fields = object.as_ptr().cast::<Object>();
            slice::from_raw_parts((&raw const (*fields).rest).cast::<usize>(), rest)
        };
        let is_zero = words.iter().all(|word| *word == 0);
        Ok(is_zero.then_some(Self {
            kind,
            allocate,
            rest,
        }))
    }
}
