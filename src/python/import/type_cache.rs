//! Which way an object's tensor is got at: found out once for each type, and remembered.

mod discover;
mod remembered;
mod vendor_library;
mod version_tag;

pub(in crate::python) use remembered::is_remembered;

use crate::dlpack::python::{Table, type_lookup};
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::TableVendor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// How often a type is looked at again, as the object got another one meanwhile.
const MOST_ATTEMPTS: usize = 4;

/// The ways, the fastest ones first.
#[derive(Debug, Clone, Copy)]
pub(in crate::python) enum ImportPath {
    /// An object of our own class.
    Own,
    /// A `numpy.ndarray`, and nothing derived from it.
    Numpy,
    /// A type with a C exchange table.
    Table(Table, &'static TableVendor),
    /// A type with the buffer protocol; `true`: that also has `__dlpack__`, for what its buffers
    /// can't express, and whose tensors are read-only unless its buffers say otherwise.
    Buffer(bool),
    /// A type with `__dlpack__`, or a capsule.
    Protocol,
}

/// What is remembered of a type. It is never freed: there is one for each table and framework at most.
#[derive(Debug, Clone, Copy)]
struct CachedPath {
    path: ImportPath,
    /// The framework whose own `__dlpack__` the type has.
    vendor: &'static TableVendor,
}

impl CachedPath {
    fn is_same(&self, other: &Self) -> bool {
        let is_same_path = match (self.path, other.path) {
            (ImportPath::Table(ours, our_vendor), ImportPath::Table(theirs, their_vendor)) => {
                ours.as_ptr() == theirs.as_ptr() && our_vendor.is(their_vendor)
            }
            (ImportPath::Buffer(ours), ImportPath::Buffer(theirs)) => ours == theirs,
            (ours, theirs) => mem::discriminant(&ours) == mem::discriminant(&theirs),
        };
        is_same_path && self.vendor.is(other.vendor)
    }

    /// Returns the one that is never freed.
    fn interned(self) -> &'static Self {
        static ALL: Mutex<Vec<&'static CachedPath>> = Mutex::new(Vec::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.is_same(&self)) {
            return known;
        }
        let new = &*Box::leak(Box::new(self));
        all.push(new);
        new
    }
}

impl ImportPath {
    /// The way for an object.
    ///
    /// # Errors
    ///
    /// A `TypeError` where there is none, and a `BufferError` for a type whose objects' memory isn't their value.
    #[inline(always)]
    pub(in crate::python) fn for_object(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        match Self::cached(object) {
            Some(lane) => Ok(lane),
            None => Self::discover(object),
        }
    }

    /// Returns the path for an object whose type is remembered. No Python code runs for that.
    #[inline(always)]
    pub(in crate::python) fn cached(object: Borrowed<'_, '_, PyAny>) -> Option<Self> {
        // SAFETY: an object has a reference to its type.
        unsafe { remembered::found_of(object.get_type_ptr()) }.map(|found| found.path)
    }

    /// Finds out the way for an object, by asking its type, which may run Python code.
    ///
    /// # Errors
    ///
    /// As of [`for_object`](Self::for_object).
    #[cold]
    #[inline(never)]
    pub(in crate::python) fn discover(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        find(object).map(|found| found.path)
    }
}

/// Finds the lane of an object's type, and the framework whose own `__dlpack__` it has.
///
/// What is remembered is of the type that was looked at, whatever the object has become meanwhile.
#[cold]
#[inline(never)]
fn find(object: Borrowed<'_, '_, PyAny>) -> Result<CachedPath, Refused> {
    for _ in 0..MOST_ATTEMPTS {
        let kind = object.get_type();
        let found = find_and_remember(&kind)?;
        if object.get_type_ptr() != kind.as_type_ptr() {
            continue;
        }
        return found.ok_or_else(|| crate::python::error::no_tensor(&object).into());
    }
    Err(not_exchangeable("the object's class changed while it was looked at").into())
}

fn find_and_remember(kind: &Bound<'_, PyType>) -> PyResult<Option<CachedPath>> {
    let py = kind.py();
    let pointer = kind.as_type_ptr();
    let is_immutable = type_lookup::mro(kind)?.iter().all(|base| {
        base.cast::<PyType>()
            .is_ok_and(|base| type_lookup::is_immutable(base))
    });
    let has_tag = !is_immutable && version_tag::work(py);
    let tag = || {
        type_lookup::assign_version_tag(kind);
        // SAFETY: there is a reference to the type, and tags work.
        unsafe { version_tag::tag_of(pointer) }
    };
    let before = if has_tag { tag() } else { 0 };
    let found = discover::find(kind)?;
    // Our own class is known by its address alone.
    let is_immutable = is_immutable
        || matches!(
            found,
            Some(CachedPath {
                path: ImportPath::Own,
                ..
            })
        );
    if let Some(found) = found {
        let version = match (is_immutable, has_tag) {
            (true, _) => Some(remembered::IMMUTABLE),
            // A type has none after it was changed very often, or where it changed just now.
            (false, true) => Some(before).filter(|before| *before != 0 && *before == tag()),
            (false, false) => None,
        };
        if let Some(version) = version {
            remembered::remember(kind, found.interned(), version);
        }
    }
    Ok(found)
}

/// Returns the framework whose own `__dlpack__` an object's type has.
///
/// # Errors
///
/// As of [`ImportPath::for_object`].
pub(in crate::python) fn protocol_vendor(
    object: Borrowed<'_, '_, PyAny>,
) -> Result<&'static TableVendor, Refused> {
    // SAFETY: an object has a reference to its type.
    match unsafe { remembered::found_of(object.get_type_ptr()) } {
        Some(found) => Ok(found.vendor),
        None => find(object).map(|found| found.vendor),
    }
}
