//! Construction of tensors from their parts, and replacement of parts.

use super::Tensor;
use super::inner::{Parts, TensorInner};
use super::slot::Slot;
use crate::layout::Layout;
use crate::storage::Counted;
#[cfg(feature = "python")]
use crate::storage::Storage;
#[cfg(any(feature = "python", feature = "tensorflow"))]
use std::{ffi::c_void, ptr::NonNull};

impl Tensor {
    /// Creates a tensor from all its parts.
    ///
    /// # Safety
    ///
    /// Every element that the layout leads to, from the offset on, is in the storage (or, on a
    /// device without addresses, in what its handle stands for), and initialised.
    pub(crate) unsafe fn from_parts(parts: Parts, layout: Layout) -> Self {
        Self(Counted::new(TensorInner {
            parts,
            layout,
            slot: Slot::new(),
        }))
    }

    /// Changes some parts, in place if this is the only handle.
    ///
    /// # Safety
    ///
    /// The storage, if it is replaced, is of the same memory; and the element type, offset and
    /// padding stay.
    pub(crate) unsafe fn with_parts(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        if let Some(inner) = self.0.get_mut() {
            change(&mut inner.parts);
            return self;
        }
        // SAFETY: the layout leads to the same elements, as what it depends on doesn't change.
        unsafe { self.with_layout(self.0.layout.clone(), change) }
    }

    /// Returns another view of the same memory, with some parts changed.
    ///
    /// # Safety
    ///
    /// Every element that the layout leads to, from the changed offset on, is in the changed
    /// storage, and initialised.
    pub(super) unsafe fn with_layout(
        &self,
        layout: Layout,
        change: impl FnOnce(&mut Parts),
    ) -> Self {
        let mut parts = self.0.parts.clone();
        change(&mut parts);
        // SAFETY: the elements that the layout leads to are there and initialised, which is this
        // function's own precondition.
        unsafe { Self::from_parts(parts, layout) }
    }

    /// Converts the handle to a pointer.
    #[cfg(any(feature = "python", feature = "tensorflow"))]
    pub(crate) fn into_raw(self) -> NonNull<c_void> {
        self.0.into_raw().cast()
    }

    /// Returns the handle behind a pointer from `into_raw`.
    ///
    /// # Safety
    ///
    /// The pointer came from [`into_raw`](Self::into_raw), and is used once.
    #[cfg(any(feature = "python", feature = "tensorflow"))]
    pub(crate) unsafe fn from_raw(pointer: NonNull<c_void>) -> Self {
        // SAFETY: the pointer came from `into_raw`, and so from the counted handle's, and is used
        // once.
        Self(unsafe { Counted::from_raw(pointer.cast()) })
    }

    /// Removes the guard of the storage, if it is [guarded](Storage::guarded).
    #[cfg(feature = "python")]
    #[inline]
    pub(crate) fn unguarded(self) -> Self {
        match self.0.parts.storage.unguarded() {
            None => self,
            Some(storage) => self.with_storage(|_| storage),
        }
    }

    /// Replaces the storage by another one of the same memory.
    #[cfg(feature = "python")]
    pub(crate) fn with_storage(self, change: impl FnOnce(Storage) -> Storage) -> Self {
        let change = |parts: &mut Parts| {
            let empty = Storage::empty(parts.storage.device());
            let storage = std::mem::replace(&mut parts.storage, empty);
            let before = (storage.data_ptr(), storage.nbytes());
            let storage = change(storage);
            assert_eq!(before, (storage.data_ptr(), storage.nbytes()));
            parts.storage = storage;
        };
        // SAFETY: the assertion compares where the memory is; nothing else changes.
        unsafe { self.with_parts(change) }
    }
}
