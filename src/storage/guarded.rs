//! Guarded storage: a guard is dropped with the last handle, before the owner inside.
//!
//! Code that hands such memory to where the guard doesn't apply exports the storage without its
//! guard.

use super::Storage;
use super::owner::{Aligned2, Boxed, InnerOwner, Owner, SmallOwner};
use std::ptr::NonNull;

/// A guard, and the owner that it guards. Fields are dropped in this order.
struct Guarded<G> {
    _guard: G,
    inner: Owner,
}

/// The box of one.
struct Held<G>(Boxed<Guarded<G>>);

// SAFETY: the first word is that of a box, which is even.
unsafe impl<G: Send + 'static> SmallOwner for Held<G> {
    fn into_words(self) -> [*mut (); 2] {
        self.0.into_words()
    }

    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        // SAFETY: the words came from `into_words` of this type, and so from the box's, and are
        // used once.
        Self(unsafe { Boxed::from_words(words) })
    }

    unsafe fn settle(words: [*mut (); 2]) -> Result<(), String> {
        // SAFETY: the words came from `into_words` of this type and weren't used yet, so the owner
        // inside lives; only shared references are made to it while there may be several handles.
        unsafe { inner_of::<G>(words).as_ref() }.settle()
    }

    const INNER: Option<InnerOwner> = Some(inner_of::<G>);
}

/// Returns the owner inside.
///
/// # Safety
///
/// The words are those of a [`Held`] with a guard of this type, which is there.
unsafe fn inner_of<G>([pointer, _]: [*mut (); 2]) -> NonNull<Owner> {
    // SAFETY: the first word is the pointer of a box of this, which isn't NULL.
    unsafe { NonNull::new_unchecked(&raw mut (*pointer.cast::<Aligned2<Guarded<G>>>()).0.inner) }
}

impl Storage {
    /// Adds a guard that is dropped with the last handle, before the memory may be released.
    pub(crate) fn guarded<G: Send + 'static>(self, guard: G) -> Self {
        debug_assert!(self.inner().is_none(), "storage has one guard at most");
        Self {
            memory: self.memory,
            owner: Owner::small(Held(Boxed::new(Guarded {
                _guard: guard,
                inner: self.owner,
            }))),
        }
    }

    /// Returns the same memory without the guard, if it is guarded.
    #[inline]
    pub(crate) fn unguarded(&self) -> Option<Self> {
        self.inner().map(|inner| Self {
            memory: self.memory,
            owner: inner.clone(),
        })
    }

    /// Returns the owner that is kept with a guard.
    #[inline]
    pub(super) fn inner(&self) -> Option<&Owner> {
        // SAFETY: the owner is there as long as `self`, and only shared references are made to
        // its value, except through the only handle.
        self.owner.inner().map(|inner| unsafe { inner.as_ref() })
    }

    /// Checks whether this is the only handle to the owner that is kept with a guard, given that it
    /// is the only one to the guard.
    pub(super) fn is_inner_unique(&mut self) -> bool {
        self.owner.inner().is_none_or(|mut inner| {
            // SAFETY: the caller has the only handle to the guard, and so to what is with it.
            unsafe { inner.as_mut() }.is_unique()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts how often it was dropped, and whether the memory was there then.
    struct Guard(Arc<AtomicUsize>, Arc<[u8]>);

    impl Drop for Guard {
        fn drop(&mut self) {
            // The owner, the guard and the test have the bytes.
            assert_eq!(Arc::strong_count(&self.1), 3);
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn guard_is_dropped_with_the_last_handle_before_the_memory() {
        let (drops, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::<[u8]>::from([1, 2, 3]));
        let storage = Storage::from_owner(Arc::clone(&bytes));
        let guard = Guard(Arc::clone(&drops), Arc::clone(&bytes));
        let guarded = storage.guarded(guard);
        let part = guarded.slice(1..2);
        drop(guarded);
        assert_eq!(drops.load(Ordering::SeqCst), 0);
        drop(part);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
        assert_eq!(Arc::strong_count(&bytes), 1);
    }

    #[test]
    fn unguarded_handle_keeps_memory_without_the_guard() {
        let (drops, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::<[u8]>::from([1, 2, 3]));
        let storage = Storage::from_owner(Arc::clone(&bytes));
        assert!(storage.unguarded().is_none());
        let name = storage.owner_name();
        let guard = Guard(Arc::clone(&drops), Arc::clone(&bytes));
        let guarded = storage.guarded(guard);
        assert_eq!((guarded.owner_name(), guarded.handles()), (name, 1));
        let bare = guarded.slice(1..3).unguarded().unwrap();
        assert_eq!((bare.data_ptr(), bare.nbytes()), (bytes[1..].as_ptr(), 2));
        assert_eq!((guarded.handles(), bare.handles()), (2, 2));
        drop(guarded);
        assert_eq!(drops.load(Ordering::SeqCst), 1);
        assert!(bare.unguarded().is_none());
        drop(bare);
        assert_eq!(Arc::strong_count(&bytes), 1);
    }

    #[test]
    fn only_handle_to_guarded_memory_may_write() {
        let mut guarded = Storage::from_vec(vec![1_u8]).guarded(());
        assert!(guarded.is_exclusive());
        let bare = guarded.unguarded();
        assert!(!guarded.is_exclusive());
        drop(bare);
        assert!(guarded.is_exclusive());
        let other = guarded.clone();
        assert!(!guarded.is_exclusive());
        drop(other);
        assert!(guarded.is_exclusive());
    }
}
