//! Per-type cache of the fastest import path.

mod discover;
mod path;
mod remembered;
mod vendor_library;
mod version_tag;

use path::CachedPath;
pub(in crate::python) use path::ImportPath;
pub(in crate::python) use remembered::is_remembered;

use crate::dlpack::python::type_lookup;
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::TableVendor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// How often a path is looked for again, as the object got another type meanwhile.
const MOST_ATTEMPTS: usize = 4;

impl ImportPath {
    /// Returns the import path for an object.
    ///
    /// # Errors
    ///
    /// A `TypeError` where there is none, and a `BufferError` for a type whose objects' memory
    /// isn't their value.
    #[inline(always)]
    pub(in crate::python) fn for_object(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        match Self::cached(object) {
            Some(path) => Ok(*path),
            None => Self::discover(object),
        }
    }

    /// Returns the path for an object whose type is remembered. No Python code runs for that.
    #[inline(always)]
    pub(in crate::python) fn cached(object: Borrowed<'_, '_, PyAny>) -> Option<&'static Self> {
        // SAFETY: an object has a reference to its type.
        unsafe { remembered::found_of(object.get_type_ptr()) }.map(|found| &found.path)
    }

    /// Finds the import path for an object by asking its type, which may run Python code.
    ///
    /// # Errors
    ///
    /// The same as for [`for_object`](Self::for_object).
    #[cold]
    #[inline(never)]
    pub(in crate::python) fn discover(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        find(object).map(|found| found.path)
    }
}

/// Finds the import path of an object's type, and the framework whose own `__dlpack__` it has.
///
/// What is remembered is of the type that was asked, whatever the object has become meanwhile.
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
/// The same as for [`ImportPath::for_object`].
pub(in crate::python) fn protocol_vendor(
    object: Borrowed<'_, '_, PyAny>,
) -> Result<&'static TableVendor, Refused> {
    // SAFETY: an object has a reference to its type.
    match unsafe { remembered::found_of(object.get_type_ptr()) } {
        Some(found) => Ok(found.vendor),
        None => find(object).map(|found| found.vendor),
    }
}
