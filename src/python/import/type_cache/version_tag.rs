//! Version tags of types: a number that Python changes whenever an attribute of a type, or of a
//! base class, changes.
//!
//! CPython keeps it for its own caches of attributes, in the struct of a type. In the limited API
//! that struct is opaque, so the place is checked once, with a type that is made and changed for
//! that.

use crate::dlpack::python::FoundOnce;
use crate::dlpack::python::type_lookup::{assign_version_tag, basic_size};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the tag lies in the struct of a type.
#[cfg(not(Py_LIMITED_API))]
const OFFSET: usize = std::mem::offset_of!(ffi::PyTypeObject, tp_version_tag);
/// Behind the head of an object of variable size and 45 words, in CPython 3.8 to 3.14.
#[cfg(Py_LIMITED_API)]
const OFFSET: usize = size_of::<ffi::PyVarObject>() + 45 * size_of::<usize>();

/// Returns the tag of a type; 0 where it has none at present.
///
/// # Safety
///
/// The pointer is a type's, to which there is a reference, and [`work`] said yes.
#[inline(always)]
pub(super) unsafe fn tag_of(kind: *mut ffi::PyTypeObject) -> u32 {
    // SAFETY: the caller has a reference to the type, whose struct is larger than the offset, as
    // `work` checked for the class of all types. Python writes the tag while no other thread runs,
    // or as an atomic number.
    unsafe { AtomicU32::from_ptr(kind.cast::<u8>().add(OFFSET).cast()) }.load(Ordering::Relaxed)
}

/// Returns whether tags are where they are looked for, and change when a type changes.
pub(super) fn work(py: Python<'_>) -> bool {
    static WORK: FoundOnce<bool> = FoundOnce::new();
    *WORK.get_or_find(py, || try_out(py).unwrap_or(false))
}

fn try_out(py: Python<'_>) -> PyResult<bool> {
    let kind = py.get_type::<PyType>();
    if basic_size(&kind).is_none_or(|size| size < OFFSET + size_of::<u32>()) {
        return Ok(false);
    }
    let bases = PyTuple::empty(py);
    let base = kind
        .call1(("Base", bases, PyDict::new(py)))?
        .cast_into::<PyType>()?;
    let derived = kind.call1(("Derived", (&base,), PyDict::new(py)))?;
    let derived = derived.cast_into::<PyType>()?;
    let tag = || {
        assign_version_tag(&derived);
        // SAFETY: a type to which there is a reference, and the size of all types was checked.
        unsafe { tag_of(derived.as_type_ptr()) }
    };
    let first = (tag(), tag());
    base.setattr("attribute", 1)?;
    let second = (tag(), tag());
    derived.setattr("attribute", 2)?;
    let third = tag();
    Ok(first.0 != 0
        && first.0 == first.1
        && ![0, first.0].contains(&second.0)
        && second.0 == second.1
        && ![0, first.0, second.0].contains(&third))
}
