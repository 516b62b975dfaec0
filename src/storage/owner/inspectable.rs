//! Inspectable owners: of memory that devices use too, found again by their type.

use super::{Aligned2, Boxed, Owner, SmallOwner};
use std::any::TypeId;

/// An owner of memory that a device may be using while the CPU wants to access it.
///
/// The owner knows that work and can wait for it. It is given to
/// [`Storage::from_sync_owner`](crate::Storage::from_sync_owner), and found again by
/// [`Storage::sync_owner`](crate::Storage::sync_owner). That is how memory of a device that this
/// crate doesn't know becomes a tensor; see the example of
/// [`Storage::from_sync_owner`](crate::Storage::from_sync_owner).
pub trait SyncOwner: Send + Sync + 'static {
    /// Waits until the CPU may access the memory.
    ///
    /// # Errors
    ///
    /// When it can't wait, or the work that it waits for failed: why.
    fn settle(&self) -> Result<(), String>;
}

impl Owner {
    /// Creates an owner that can be [inspected](Self::inspect).
    pub(crate) fn inspectable<O: SyncOwner>(owner: O) -> Self {
        Self::small(Inspectable(Boxed::new(owner)))
    }

    /// Returns the owner, if it is an [inspectable](Self::inspectable) one of this type.
    pub(crate) fn inspect<O: SyncOwner>(&self) -> Option<&O> {
        if (self.vtable.id)() != TypeId::of::<Inspectable<O>>() {
            return None;
        }
        let [pointer, _] = self.words();
        // SAFETY: the type says that the first word is the pointer to a box of this, which is there
        // as long as `self`, wherever the words are; only shared references are made to it until it
        // is dropped.
        Some(unsafe { &(*pointer.cast::<Aligned2<O>>()).0 })
    }

    /// Waits until the CPU may access the memory.
    ///
    /// # Errors
    ///
    /// When it can't wait, or the work that it waits for failed: why.
    pub(crate) fn settle(&self) -> Result<(), String> {
        // SAFETY: the words are those of an owner of the vtable's type, which is there as long as
        // `self`.
        unsafe { (self.vtable.settle)(self.words()) }
    }
}

/// A box whose content is shared with all holders of a handle.
struct Inspectable<O>(Boxed<O>);

// SAFETY: the words are those of the box: a pointer to something aligned to 2 bytes.
unsafe impl<O: SyncOwner> SmallOwner for Inspectable<O> {
    fn into_words(self) -> [*mut (); 2] {
        self.0.into_words()
    }

    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        // SAFETY: the words came from `into_words` of this type, and so from the box's, and are
        // used once.
        Self(unsafe { Boxed::from_words(words) })
    }

    unsafe fn settle([pointer, _]: [*mut (); 2]) -> Result<(), String> {
        // SAFETY: the first word is the pointer to a box of this, to which only shared references
        // are made.
        unsafe { &(*pointer.cast::<Aligned2<O>>()).0 }.settle()
    }
}
