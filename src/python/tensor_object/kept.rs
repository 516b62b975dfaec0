//! [`Kept`]: the tensor that a Python object owns.

use crate::dlpack::python::keeping_exception;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use std::mem::ManuallyDrop;

/// A tensor that Python keeps. Its deleter may call Python, so an exception that is
/// on its way meanwhile is put aside.
#[derive(Debug)]
pub(in crate::python) struct Kept(ManuallyDrop<Tensor>);

impl Kept {
    /// Creates one that Python keeps: it no longer counts as kept by Rust code.
    pub(super) fn new(tensor: Tensor) -> Self {
        Self(ManuallyDrop::new(tensor.unguarded()))
    }
}

impl std::ops::Deref for Kept {
    type Target = Tensor;

    #[inline]
    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it isn't used again.
        let mut tensor = Some(unsafe { ManuallyDrop::take(&mut self.0) });
        Python::try_attach(|py| keeping_exception(py, || drop(tensor.take())));
        // Where Python is gone, the tensor goes here.
    }
}
