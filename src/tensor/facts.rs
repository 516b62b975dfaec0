//! [`Facts`]: what a tensor's handles point to.

use super::slot::Slot;
use super::{Layout, Tensor};
use crate::dtype::DType;
use crate::storage::{Counted, Room, Storage};
use std::mem::ManuallyDrop;
use std::ptr;
#[cfg(feature = "python")]
use std::{ffi::c_void, ptr::NonNull};

/// All that is known of a tensor.
pub(super) struct Facts {
    pub(super) parts: Parts,
    pub(super) layout: Layout,
    /// Room for an export.
    pub(super) slot: Slot,
}

/// What is known of a tensor beside its layout.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) storage: Storage,
    /// Where the element of index 0 is, in bytes from the storage's beginning.
    pub(crate) offset: usize,
    pub(crate) dtype: DType,
    /// Whether sub-byte elements are each padded to whole bytes.
    pub(crate) padded: bool,
    /// Whether the memory was copied for whoever gets this tensor.
    pub(crate) copied: bool,
}

/// A tensor whose layout is made where it stays: moving one that was just written costs more than
/// writing it.
pub(crate) struct Blank(Room<Facts>);

impl Blank {
    /// A tensor with the layout of a scalar, and nothing else yet.
    #[inline]
    pub(crate) fn new() -> Self {
        let mut room = Room::<Facts>::new();
        // SAFETY: the place is for facts, of which the layout is written.
        unsafe { (&raw mut (*room.place()).layout).write(Layout::scalar()) };
        Self(room)
    }

    /// The layout, to be changed.
    #[inline]
    pub(crate) fn layout(&mut self) -> &mut Layout {
        // SAFETY: it was written in `new`.
        unsafe { &mut (*self.0.place()).layout }
    }

    /// The tensor.
    ///
    /// # Safety
    ///
    /// Every element that the layout leads to, from the offset on, is in the storage (or, on a
    /// device without addresses, in what its handle stands for), and initialised.
    #[inline]
    pub(crate) unsafe fn finish(self, parts: Parts) -> Tensor {
        let mut this = ManuallyDrop::new(self);
        let place = this.0.place();
        // SAFETY: the layout was written in `new`, everything else is here, and the room is moved
        // out of what isn't dropped.
        unsafe {
            (&raw mut (*place).parts).write(parts);
            (&raw mut (*place).slot).write(Slot::new());
            Tensor(ptr::read(&this.0).written())
        }
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        // SAFETY: it was written in `new`, and nothing else was.
        unsafe { (&raw mut (*self.0.place()).layout).drop_in_place() }
    }
}

impl Tensor {
    /// A tensor of all the parts.
    ///
    /// # Safety
    ///
    /// As of [`Blank::finish`].
    pub(crate) unsafe fn from_parts(parts: Parts, layout: Layout) -> Self {
        Self(Counted::new(Facts {
            parts,
            layout,
            slot: Slot::new(),
        }))
    }

    /// Gives the handle up for a pointer.
    #[cfg(feature = "python")]
    pub(crate) fn into_raw(self) -> NonNull<c_void> {
        self.0.into_raw().cast()
    }

    /// The handle that was given up.
    ///
    /// # Safety
    ///
    /// The pointer came from [`into_raw`](Self::into_raw), and is used once.
    #[cfg(feature = "python")]
    pub(crate) unsafe fn from_raw(pointer: NonNull<c_void>) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { Counted::from_raw(pointer.cast()) })
    }

    /// The same tensor, marked as a copy that was made for whoever gets it.
    #[cfg(feature = "cuda")]
    pub(crate) fn marked_copied(mut self) -> Self {
        let facts = self.0.get_mut().expect("a copy that nobody else has yet");
        facts.parts.copied = true;
        self
    }

    /// The same tensor, its memory kept by something that keeps what kept it.
    #[cfg(feature = "cuda")]
    pub(crate) fn rekept(&self, keep: impl FnOnce(Storage) -> Storage) -> Self {
        let mut parts = self.0.parts.clone();
        let before = (parts.storage.data_ptr(), parts.storage.bytes());
        parts.storage = keep(parts.storage);
        assert_eq!(before, (parts.storage.data_ptr(), parts.storage.bytes()));
        // SAFETY: the memory is the same.
        unsafe { Self::from_parts(parts, self.0.layout.clone()) }
    }

    /// The same tensor without the guard of its storage, where that is [guarded](Storage::guarded).
    #[cfg(feature = "python")]
    #[inline]
    pub(crate) fn unguarded(self) -> Self {
        match self.0.parts.storage.unguarded() {
            None => self,
            Some(storage) => self.with_storage(|_| storage),
        }
    }

    /// The same tensor, its storage replaced by another one of the same memory.
    #[cfg(feature = "python")]
    pub(crate) fn with_storage(mut self, change: impl FnOnce(Storage) -> Storage) -> Self {
        if let Some(facts) = self.0.get_mut() {
            let storage = std::mem::replace(&mut facts.parts.storage, Storage::nothing());
            let before = (storage.data_ptr(), storage.bytes());
            let storage = change(storage);
            assert_eq!(before, (storage.data_ptr(), storage.bytes()));
            facts.parts.storage = storage;
            return self;
        }
        let mut parts = self.0.parts.clone();
        let before = (parts.storage.data_ptr(), parts.storage.bytes());
        parts.storage = change(parts.storage);
        assert_eq!(before, (parts.storage.data_ptr(), parts.storage.bytes()));
        // SAFETY: the memory is the same.
        unsafe { Self::from_parts(parts, self.0.layout.clone()) }
    }

    /// Another view of the same memory, with some parts changed.
    ///
    /// # Safety
    ///
    /// As of [`Blank::finish`].
    pub(super) unsafe fn with_layout(
        &self,
        layout: Layout,
        change: impl FnOnce(&mut Parts),
    ) -> Self {
        let mut parts = self.0.parts.clone();
        change(&mut parts);
        // SAFETY: the caller's promise.
        unsafe { Self::from_parts(parts, layout) }
    }
}

const _: () = assert!(size_of::<Option<Tensor>>() == size_of::<usize>());
const _: () = assert!(size_of::<Facts>() == 304 || size_of::<usize>() != 8);
