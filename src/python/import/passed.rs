//! [`Passed`]: a tensor on its way through Rust.

use crate::python::error::Refused;
use crate::python::import::own::{Purpose, Wanted, from_object, from_object_for};
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;

/// A tensor that is passed on to a framework, and that Rust code can't read: see
/// [`convert`](crate::python::convert).
///
/// As an argument it is like [`Tensor`], but its memory isn't registered as read: it may be in use
/// by a call that writes it.
#[derive(Debug)]
pub struct Passed(pub(in crate::python) Tensor);

impl Passed {
    /// Borrows an object's tensor to copy it: unlike one that shares its memory for longer, it
    /// doesn't have PyTorch refuse to resize the storage.
    ///
    /// # Errors
    ///
    /// A `TypeError` for what isn't a tensor, and a `BufferError` for one that can't be exchanged.
    pub fn to_look_at(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wanted = Wanted::default();
        from_object_for(object.as_borrowed(), wanted, Purpose::Inspect).map(Self)
    }

    /// Borrows an object's tensor to ask about it. What is in a capsule can still be taken.
    ///
    /// # Errors
    ///
    /// Those of [`to_look_at`](Self::to_look_at).
    pub fn to_ask_about(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wanted = Wanted::default();
        from_object_for(object.as_borrowed(), wanted, Purpose::Ask).map(Self)
    }
}

impl From<Tensor> for Passed {
    fn from(tensor: Tensor) -> Self {
        Self(tensor.unguarded())
    }
}

impl From<&Tensor> for Passed {
    fn from(tensor: &Tensor) -> Self {
        Self(tensor.clone().unguarded())
    }
}

impl<'py> FromPyObject<'_, 'py> for Passed {
    type Error = Refused;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::TENSOR_LIKE;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        Ok(Self(from_object(&object, Wanted::default())?))
    }
}
