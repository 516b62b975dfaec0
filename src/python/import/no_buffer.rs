//! The buffer protocol where there is none: in the limited API before Python 3.11.

use crate::dlpack::{DLTensor, Flags};
use crate::python::error::not_exchangeable;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// None has.
pub(in crate::python) fn has_buffer(_: &Bound<'_, PyType>) -> bool {
    false
}

/// What can't be got.
pub(in crate::python) enum Buffer {}

impl Buffer {
    pub(in crate::python) fn from_object(_: Borrowed<'_, '_, PyAny>) -> PyResult<Box<Self>> {
        Err(not_exchangeable("this build has no buffer protocol"))
    }

    pub(in crate::python) fn is_read_only(&self) -> bool {
        match *self {}
    }

    pub(in crate::python) fn describe(&self, _: &mut Vec<i64>) -> PyResult<(DLTensor, Flags)> {
        match *self {}
    }
}
