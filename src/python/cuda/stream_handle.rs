//! Streams by their handle, which a Python object owns.

use crate::cuda::{Gpu, Stream};
use crate::python::object::Object;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::ptr;

/// Returns the stream of a handle.
///
/// # Safety
///
/// The handle is that of a stream of this GPU, which is there as long as the object.
pub(super) unsafe fn of_handle(gpu: Gpu, handle: usize, keeper: Borrowed<'_, '_, PyAny>) -> Stream {
    let handle = ptr::without_provenance_mut(handle);
    // SAFETY: the handle is a stream's, which is there as long as the object, and that is kept with
    // it.
    unsafe {
        Stream::from_raw(gpu, handle).kept(Keeper {
            _object: Object::new(keeper),
        })
    }
}

/// An object that keeps a stream.
struct Keeper {
    _object: Object,
}

// SAFETY: a shared reference to it gives nothing.
unsafe impl Sync for Keeper {}
