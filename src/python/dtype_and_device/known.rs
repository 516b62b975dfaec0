//! Element types of other packages that were read before, by the object: reading one takes three
//! times as long as a call with a small tensor.

use crate::dlpack::python::intern;
use crate::dtype::DType;
use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// How many objects are known: more than a framework has element types.
const PLACES: usize = 128;
const PROBES: usize = 8;

struct Place {
    /// The object, to which a reference is held for good; NULL while the place is free.
    object: AtomicPtr<ffi::PyObject>,
    /// Its dtype's number, written before `object`.
    dtype: AtomicU32,
}

static KNOWN: [Place; PLACES] = [const {
    Place {
        object: AtomicPtr::new(ptr::null_mut()),
        dtype: AtomicU32::new(0),
    }
}; PLACES];
static WRITING: Mutex<()> = Mutex::new(());

fn places(object: *mut ffi::PyObject) -> impl Iterator<Item = &'static Place> {
    let hash = (object.addr() >> 4) ^ (object.addr() >> 11);
    (0..PROBES).map(move |probe| &KNOWN[(hash + probe) % PLACES])
}

/// Returns the dtype of an object that is known.
#[inline]
pub(super) fn find(object: Borrowed<'_, '_, PyAny>) -> Option<DType> {
    for place in places(object.as_ptr()) {
        let known = place.object.load(Ordering::Acquire);
        if known == object.as_ptr() {
            return Some(DType::from_number(place.dtype.load(Ordering::Relaxed)));
        }
        if known.is_null() {
            break;
        }
    }
    None
}

/// Keeps the dtype of an object, where there is room, if the object can't become another one.
pub(super) fn keep(object: Borrowed<'_, '_, PyAny>, dtype: DType) {
    if !is_immutable(object) {
        return;
    }
    let _lock = WRITING.lock().unwrap_or_else(|poison| poison.into_inner());
    for place in places(object.as_ptr()) {
        let known = place.object.load(Ordering::Relaxed);
        if known == object.as_ptr() {
            return;
        }
        if known.is_null() {
            // Without a reference, another object could come to be at the same address.
            let kept = object.to_owned().into_ptr();
            place.dtype.store(dtype.number(), Ordering::Relaxed);
            place.object.store(kept, Ordering::Release);
            return;
        }
    }
}

/// Returns whether Python code can change neither the object nor its class: classes in C, and their
/// objects without attributes of their own, as `torch.float32` and `numpy.dtype("float32")`.
fn is_immutable(object: Borrowed<'_, '_, PyAny>) -> bool {
    let is_of_c = |kind: *mut ffi::PyTypeObject| {
        // SAFETY: a type, to which its object or the caller has a reference.
        unsafe { ffi::PyType_GetFlags(kind) & ffi::Py_TPFLAGS_HEAPTYPE == 0 }
    };
    // SAFETY: an object, whose type is there for as long as it.
    let kind = unsafe { ffi::Py_TYPE(object.as_ptr()) };
    // SAFETY: an object.
    let is_class = unsafe { ffi::PyType_Check(object.as_ptr()) } != 0;
    let has_attributes = || object.getattr_opt(intern!(object.py(), "__dict__"));
    is_of_c(kind)
        && match is_class {
            true => is_of_c(object.as_ptr().cast()),
            // What has elements that change, as an array, has no hash.
            false => matches!(has_attributes(), Ok(None)) && object.hash().is_ok(),
        }
}
