//! Attributes of C types, without a lookup by name at each access.

use super::error::not_exchangeable;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use std::ffi::c_void;

/// An attribute of a type that is written in C, and the function by which it is got at: calling it
/// takes a fraction of the time of looking the attribute up.
pub(super) struct Attribute {
    descriptor: Py<PyAny>,
    get: ffi::descrgetfunc,
}

impl Attribute {
    /// Returns the attribute of a class.
    pub(super) fn from_class(class: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        Self::new(class.getattr(name)?)
    }

    /// Returns the attribute that a descriptor stands for.
    pub(super) fn new(descriptor: Bound<'_, PyAny>) -> PyResult<Self> {
        // SAFETY: a type, and a slot that holds NULL or such a function.
        let get = unsafe {
            let slot = ffi::PyType_GetSlot(descriptor.get_type_ptr(), ffi::Py_tp_descr_get);
            std::mem::transmute::<*mut c_void, Option<ffi::descrgetfunc>>(slot)
        };
        let get = get.ok_or_else(|| not_exchangeable(format!("{descriptor} can't be asked")))?;
        let descriptor = descriptor.unbind();
        Ok(Self { descriptor, get })
    }

    /// Returns whether an object's attribute is exactly this one of `True` and `False`.
    #[inline]
    pub(super) fn is(&self, object: Borrowed<'_, '_, PyAny>, wanted: bool) -> PyResult<bool> {
        // SAFETY: the descriptor's own function, and an object that it is for, or an error comes.
        // The answer is a reference of ours.
        unsafe {
            let kind = object.get_type_ptr().cast();
            let answer = (self.get)(self.descriptor.as_ptr(), object.as_ptr(), kind);
            let answer = Bound::from_owned_ptr_or_err(object.py(), answer)?;
            let wanted = if wanted {
                ffi::Py_True()
            } else {
                ffi::Py_False()
            };
            Ok(answer.as_ptr() == wanted)
        }
    }
}
