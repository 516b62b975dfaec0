//! NumPy's C interface.

use super::array::{is_array_type, remember};
use crate::dlpack::python::{FoundOnce, intern};
use crate::python::error::not_exchangeable;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::ffi::{c_int, c_void};
use std::ptr;

pub(super) type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *mut isize,
    *mut isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
pub(super) type DescrFromType = unsafe extern "C" fn(c_int) -> *mut ffi::PyObject;

/// The functions of NumPy's C interface that are used. Their places in it never change.
#[derive(Clone, Copy)]
pub(super) struct Interface {
    pub(super) array_type: *mut ffi::PyTypeObject,
    pub(super) descr_from_type: DescrFromType,
    pub(super) new_from_descr: NewFromDescr,
}

// SAFETY: addresses of what stays for as long as the process runs.
unsafe impl Send for Interface {}
// SAFETY: they are addresses of what stays, and is only read or called by a thread that is
// attached.
unsafe impl Sync for Interface {}

const ARRAY_TYPE: usize = 2;
const DESCR_FROM_TYPE: usize = 45;
const NEW_FROM_DESCR: usize = 94;

#[inline]
pub(super) fn interface(py: Python<'_>) -> PyResult<&'static Interface> {
    static INTERFACE: FoundOnce<Interface> = FoundOnce::new();
    INTERFACE.get_or_try_find(py, || {
        // NumPy 2 moved the module.
        let module = py
            .import(intern!(py, "numpy._core._multiarray_umath"))
            .or_else(|_| py.import(intern!(py, "numpy.core._multiarray_umath")))?;
        let capsule = module.getattr(intern!(py, "_ARRAY_API"))?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.as_ptr();
        let table = table.cast::<*mut c_void>();
        // There are other capsules without a name, and Python code could put one here.
        let array_type = module.getattr(intern!(py, "ndarray"))?;
        let array_type = array_type.cast::<PyType>()?;
        // SAFETY: the capsules of NumPy without a name hold tables of more words than that.
        let found = unsafe { *table.add(ARRAY_TYPE) };
        if !is_array_type(array_type) || found.cast() != array_type.as_type_ptr() {
            return Err(not_exchangeable(
                "expected the table of NumPy's C interface in _ARRAY_API, and found something else",
            ));
        }
        remember(array_type);
        // SAFETY: the capsule holds the table of NumPy's C interface, as its type of arrays is
        // there; its places are fixed and have these types.
        unsafe {
            Ok(Interface {
                array_type: (*table.add(ARRAY_TYPE)).cast(),
                descr_from_type: std::mem::transmute::<*mut c_void, DescrFromType>(
                    *table.add(DESCR_FROM_TYPE),
                ),
                new_from_descr: std::mem::transmute::<*mut c_void, NewFromDescr>(
                    *table.add(NEW_FROM_DESCR),
                ),
            })
        }
    })
}

/// An array of an element type, without elements.
pub(super) fn empty_array<'py>(
    py: Python<'py>,
    element_type: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let interface = interface(py)?;
    let mut size = 0;
    // SAFETY: one size; the element type is one of NumPy's, and a reference to it is given away.
    // NumPy allocates.
    unsafe {
        let array = (interface.new_from_descr)(
            interface.array_type,
            element_type.clone().into_ptr(),
            1,
            &mut size,
            ptr::null_mut(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)
    }
}
