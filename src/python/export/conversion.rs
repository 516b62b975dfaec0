//! [`Conversion`]: what an export may do: share or copy.

use crate::python::frameworks::title_of;
use crate::python::readonly::ReadOnlyPolicy;
use crate::python::tensor_object::PyTensor;
use pyo3::prelude::*;

/// What a conversion may do: copy, or share memory that is read-only.
///
/// ```
/// use dlbridge::python::{Conversion, ReadOnlyPolicy};
///
/// let shared = Conversion::default(); // no copy, and the policy that holds at the time
/// let quiet = Conversion::default().readonly(ReadOnlyPolicy::Share);
/// let writable = Conversion::from(None); // a copy where memory can't be shared, or not be written
/// # let _ = (shared, quiet, writable);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Conversion<'a, 'py> {
    pub(in crate::python) copy: Option<bool>,
    pub(in crate::python) readonly: Option<ReadOnlyPolicy>,
    pub(in crate::python) origin: Origin<'a, 'py>,
}

/// Where a tensor is from, which a warning names.
#[derive(Debug, Clone, Copy)]
pub(in crate::python) enum Origin<'a, 'py> {
    Unknown,
    Object(&'a Bound<'py, PyAny>),
    Ours(&'a PyTensor),
}

impl Conversion<'_, '_> {
    /// Shared memory, or an error; by the policy that holds at the time.
    pub(in crate::python) const SHARED: Conversion<'static, 'static> = Conversion {
        copy: Some(false),
        readonly: None,
        origin: Origin::Unknown,
    };
}

impl Default for Conversion<'_, '_> {
    /// Shared memory, or an error; by the [current policy](ReadOnlyPolicy::current).
    fn default() -> Self {
        Self::SHARED
    }
}

impl From<Option<bool>> for Conversion<'_, '_> {
    /// `Some(false)` for shared memory or an error, `Some(true)` for memory of its own, and `None`
    /// for shared memory wherever that is possible, and else a copy.
    fn from(copy: Option<bool>) -> Self {
        Self {
            copy,
            ..Self::SHARED
        }
    }
}

impl<'a, 'py> Conversion<'a, 'py> {
    /// Sets what happens where the tensor is read-only and the framework has no read-only tensors;
    /// `None` for the [current policy](ReadOnlyPolicy::current).
    #[must_use]
    pub fn readonly(self, policy: impl Into<Option<ReadOnlyPolicy>>) -> Self {
        Self {
            readonly: policy.into(),
            ..self
        }
    }

    /// Says whose tensor it was, which a warning names: the object that it was taken from.
    #[must_use]
    pub fn taken_from(self, object: &'a Bound<'py, PyAny>) -> Self {
        let origin = Origin::Object(object);
        Self { origin, ..self }
    }

    /// The same of an object of our own class, which remembers it.
    pub(in crate::python) fn taken_from_ours(self, object: &'a PyTensor) -> Self {
        let origin = Origin::Ours(object);
        Self { origin, ..self }
    }
}

impl Origin<'_, '_> {
    /// What users call it.
    #[cold]
    pub(in crate::python) fn title(&self, py: Python<'_>) -> PyResult<String> {
        let kind = match self {
            Self::Unknown => None,
            Self::Ours(tensor) => tensor.source(py),
            Self::Object(object) => match object.cast_exact::<PyTensor>() {
                Ok(tensor) => tensor.get().source(py),
                Err(_) => Some(object.get_type()),
            },
        };
        match kind {
            Some(kind) => title_of(&kind),
            None => Ok("dlbridge".to_owned()),
        }
    }
}
