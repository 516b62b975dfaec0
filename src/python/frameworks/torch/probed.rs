//! Values found by comparing samples, once per process.

use pyo3::prelude::*;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A search that fails under one of PyTorch's modes may succeed later; one that always fails isn't
/// repeated forever.
const MOST_ATTEMPTS: usize = 8;

/// A value that is searched for until it is found, and then stays.
pub(super) struct Probed<T: 'static> {
    found: AtomicPtr<T>,
    attempts: AtomicUsize,
}

impl<T: Send + Sync> Probed<T> {
    pub(super) const fn new() -> Self {
        Self {
            found: AtomicPtr::new(ptr::null_mut()),
            attempts: AtomicUsize::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self) -> Option<&'static T> {
        // SAFETY: NULL, or a value that was leaked after it was written.
        unsafe { self.found.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the value; searches for it unless that has failed too often.
    #[cold]
    pub(super) fn find(&self, search: impl FnOnce() -> PyResult<Option<T>>) -> Option<&'static T> {
        if self.get().is_none()
            && self.attempts.fetch_add(1, Ordering::Relaxed) < MOST_ATTEMPTS
            && let Ok(Some(value)) = search()
        {
            let value = Box::leak(Box::new(value));
            self.found.store(value, Ordering::Release);
        }
        self.get()
    }
}
