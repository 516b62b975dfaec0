//! The buffer protocol where there is none: in the limited API before Python 3.11.

use super::error::not_exchangeable;
use crate::dlpack::{DLTensor, Flags};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// None has.
pub(super) fn has_buffer(_: &Bound<'_, PyType>) -> bool {
    false
}

/// What can't be got.
pub(super) enum Buffer {}

impl Buffer {
    pub(super) fn of(_: Borrowed<'_, '_, PyAny>) -> PyResult<Box<Self>> {
        Err(not_exchangeable("this build has no buffer protocol"))
    }

    pub(super) fn is_read_only(&self) -> bool {
        match *self {}
    }

    pub(super) fn describe(&self, _: &mut Vec<i64>) -> PyResult<(DLTensor, Flags)> {
        match *self {}
    }
}
