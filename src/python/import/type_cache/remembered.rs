//! The cache: import paths by type. Lock-free reads; entries are added and never removed.
//!
//! A type that Python code can change is remembered with its version tag, and found anew once that
//! is another one.

use super::path::{CachedPath, ImportPath};
use super::version_tag::tag_of;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// How many types are remembered. Few programs use more than ten.
const PLACES: usize = 64;
/// How many places may be taken before types without a table, and those with one, are remembered no
/// more: programs can make any number of either.
const PLACES_WITHOUT_TABLE: usize = 40;
const PLACES_WITH_TABLE: usize = 60;
const PROBES: usize = 8;

/// In place of a version tag, for a type that never changes.
pub(super) const IMMUTABLE: u32 = 0;

struct Place {
    /// The type, to which a reference is held for good; NULL while the place is free.
    kind: AtomicPtr<ffi::PyTypeObject>,
    /// Written before `kind` and `version`. What an earlier version of the type had is harmless to
    /// use: the tables of types are kept, and the layout of their objects stays as it is.
    found: AtomicPtr<CachedPath>,
    /// The type's version tag when its import path was found, or `IMMUTABLE`.
    version: AtomicU32,
}

static REMEMBERED: [Place; PLACES] = [const {
    Place {
        kind: AtomicPtr::new(ptr::null_mut()),
        found: AtomicPtr::new(ptr::null_mut()),
        version: AtomicU32::new(IMMUTABLE),
    }
}; PLACES];
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static WRITING: Mutex<()> = Mutex::new(());

/// Returns the places where a type may be, in the order in which they are tried.
#[inline]
fn places(kind: *mut ffi::PyTypeObject) -> impl Iterator<Item = &'static Place> {
    let hash = (kind.addr() >> 4) ^ (kind.addr() >> 10);
    (0..PROBES).map(move |probe| &REMEMBERED[(hash + probe) % PLACES])
}

/// Returns what is remembered of a type; `None` for a type that isn't remembered, or was changed
/// since.
///
/// # Safety
///
/// The pointer is a type's, to which there is a reference.
#[inline(always)]
pub(super) unsafe fn found_of(kind: *mut ffi::PyTypeObject) -> Option<&'static CachedPath> {
    for place in places(kind) {
        let found = place.kind.load(Ordering::Acquire);
        if found == kind {
            let version = place.version.load(Ordering::Acquire);
            // SAFETY: a type with a reference; it was only remembered with a version since tags
            // work.
            if version != IMMUTABLE && version != unsafe { tag_of(kind) } {
                return None;
            }
            // SAFETY: `remember` stored it before the type, and what it stores is never freed.
            return unsafe { place.found.load(Ordering::Acquire).as_ref() };
        }
        if found.is_null() {
            break;
        }
    }
    None
}

/// Returns whether a type is remembered, and so there for good.
#[inline]
pub(in crate::python) fn is_remembered(kind: *mut ffi::PyTypeObject) -> bool {
    places(kind)
        .map(|place| place.kind.load(Ordering::Acquire))
        .take_while(|found| !found.is_null())
        .any(|found| found == kind)
}

/// Remembers what was found of a type, where there is room, in place of what was remembered before.
pub(super) fn remember(kind: &Bound<'_, PyType>, found: &'static CachedPath, version: u32) {
    let _lock = WRITING.lock().unwrap_or_else(|poison| poison.into_inner());
    let limit = match found.path {
        ImportPath::Own | ImportPath::Numpy => PLACES,
        ImportPath::Table(..) => PLACES_WITH_TABLE,
        ImportPath::Buffer(_) | ImportPath::Scalar | ImportPath::Protocol => PLACES_WITHOUT_TABLE,
    };
    let pointer = kind.as_type_ptr();
    for place in places(pointer) {
        let taken_by = place.kind.load(Ordering::Relaxed);
        if taken_by == pointer {
            place
                .found
                .store(ptr::from_ref(found).cast_mut(), Ordering::Release);
            place.version.store(version, Ordering::Release);
            return;
        }
        if taken_by.is_null() {
            if TAKEN.load(Ordering::Relaxed) >= limit {
                return;
            }
            // Without a reference, another type could come to be at the same address.
            let _kept = kind.clone().unbind().into_ptr();
            place
                .found
                .store(ptr::from_ref(found).cast_mut(), Ordering::Release);
            place.version.store(version, Ordering::Relaxed);
            place.kind.store(pointer, Ordering::Release);
            TAKEN.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}
