//! [`Source`]: whose memory a tensor shares.

use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi};
use std::ptr::NonNull;

/// The type of the object that memory is shared with.
#[derive(Debug)]
pub(super) enum Source {
    None,
    /// One that is there for good, to which no reference is counted: most are.
    Lasting(Lasting),
    Counted(Py<PyType>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Lasting(NonNull<ffi::PyTypeObject>);

// SAFETY: types may be used on any attached thread.
unsafe impl Send for Lasting {}
// SAFETY: a type is only used by threads that are attached, and a shared reference gives no more
// than a copy.
unsafe impl Sync for Lasting {}

impl Source {
    /// Holds the type of an object; `is_lasting`: the type is there for good.
    #[inline]
    pub(super) fn from_object(object: Borrowed<'_, '_, PyAny>, is_lasting: bool) -> Self {
        let kind = object.get_type_ptr();
        match NonNull::new(kind).filter(|_| is_lasting) {
            Some(kind) => Self::Lasting(Lasting(kind)),
            None => Self::Counted(object.get_type().unbind()),
        }
    }

    /// Returns the type, where there is one.
    pub(super) fn kind<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyType>> {
        match self {
            Self::None => None,
            // SAFETY: it is a type, and there for good.
            Self::Lasting(Lasting(kind)) => Some(unsafe {
                Borrowed::from_ptr(py, kind.as_ptr().cast())
                    .to_owned()
                    .cast_into_unchecked()
            }),
            Self::Counted(kind) => Some(kind.bind(py).clone()),
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::None => Self::None,
            Self::Lasting(kind) => Self::Lasting(*kind),
            Self::Counted(kind) => Self::Counted(kind.clone_ref(py)),
        }
    }
}
