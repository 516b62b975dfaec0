//! Owners that can be looked at, of memory that others than the processor use, too.

use super::{Boxed, Even, Owner, SmallOwner};
use std::any::TypeId;

/// An owner that can be [looked at](Owner::look).
pub(crate) trait Keeper: Send + Sync + 'static {
    /// Waits until the processor may look at the memory.
    ///
    /// # Errors
    ///
    /// Why that won't be.
    fn settle(&self) -> Result<(), String>;
}

impl Owner {
    /// Keeps something that can be [looked at](Self::look).
    pub(crate) fn shown<O: Keeper>(owner: O) -> Self {
        Self::small(Shown(Boxed::new(owner)))
    }

    /// The owner, where it is one of this type that is [shown](Self::shown).
    pub(crate) fn look<O: Keeper>(&self) -> Option<&O> {
        if (self.vtable.id)() != TypeId::of::<Shown<O>>() {
            return None;
        }
        let [pointer, _] = self.words();
        // SAFETY: the type says that the first word is the pointer to a box of this, which is there as long
        // as `self`, wherever the words are; only shared references are made to it until it is dropped.
        Some(unsafe { &(*pointer.cast::<Even<O>>()).0 })
    }

    /// Waits until the processor may look at the memory.
    ///
    /// # Errors
    ///
    /// Why that won't be.
    pub(crate) fn settle(&self) -> Result<(), String> {
        // SAFETY: the words are those of an owner of the vtable's type, which is there as long as `self`.
        unsafe { (self.vtable.settle)(self.words()) }
    }
}

/// A box whose content may be looked at by whoever has a handle.
struct Shown<O>(Boxed<O>);

// SAFETY: as of the box.
unsafe impl<O: Keeper> SmallOwner for Shown<O> {
    fn into_words(self) -> [*mut (); 2] {
        self.0.into_words()
    }

    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { Boxed::from_words(words) })
    }

    unsafe fn settle([pointer, _]: [*mut (); 2]) -> Result<(), String> {
        // SAFETY: the first word is the pointer to a box of this, to which only shared references are made.
        unsafe { &(*pointer.cast::<Even<O>>()).0 }.settle()
    }
}
