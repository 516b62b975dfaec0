//! Storage that something watches for as long as it is kept.
//!
//! A guarded storage keeps another one, and a guard that is dropped before it, with the last handle. Code
//! that gives such memory away, to where the guard has nothing to say, gives the storage inside.

use super::Storage;
use super::owner::{Boxed, Even, InnerStorage, Owner, SmallOwner};
use std::ptr::NonNull;

/// A guard, and the storage that is kept with it. The guard goes first.
struct Guarded<G> {
    _guard: G,
    inner: Storage,
}

/// The box of one.
struct Held<G>(Boxed<Guarded<G>>);

// SAFETY: the first word is that of a box, which is even.
unsafe impl<G: Send + 'static> SmallOwner for Held<G> {
    fn into_words(self) -> [*mut (); 2] {
        self.0.into_words()
    }

    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        // SAFETY: the caller promises the words of a box of this.
        Self(unsafe { Boxed::from_words(words) })
    }

    #[cfg(feature = "cuda")]
    unsafe fn settle(words: [*mut (); 2]) -> Result<(), String> {
        // SAFETY: the words are those of an owner of this type that is there; only shared references are
        // made to the storage while several handles may be.
        unsafe { inner_of::<G>(words).as_ref() }.owner.settle()
    }

    const INNER: Option<InnerStorage> = Some(inner_of::<G>);
}

/// The storage inside.
///
/// # Safety
///
/// The words are those of a [`Held`] with a guard of this type, which is there.
unsafe fn inner_of<G>([pointer, _]: [*mut (); 2]) -> NonNull<Storage> {
    // SAFETY: the first word is the pointer of a box of this, which isn't NULL.
    unsafe { NonNull::new_unchecked(&raw mut (*pointer.cast::<Even<Guarded<G>>>()).0.inner) }
}

impl Storage {
    /// The same memory, with a guard that is dropped with the last handle, before the memory may be
    /// released.
    pub(crate) fn guarded<G: Send + 'static>(self, guard: G) -> Self {
        Self {
            memory: self.memory,
            owner: Owner::small(Held(Boxed::new(Guarded {
                _guard: guard,
                inner: self,
            }))),
        }
    }

    /// The same memory without the guard, where it is guarded.
    #[inline]
    pub(crate) fn unguarded(&self) -> Option<Self> {
        self.inner().map(|inner| Self {
            memory: self.memory,
            owner: inner.owner.clone(),
        })
    }

    /// The storage that is kept with a guard.
    #[inline]
    pub(super) fn inner(&self) -> Option<&Self> {
        // SAFETY: the owner is there as long as `self`, and only shared references are made to what is
        // inside, but by who has the only handle.
        self.owner.inner().map(|inner| unsafe { inner.as_ref() })
    }

    /// Whether no other handle is to the storage that is kept with a guard, where this handle is the only
    /// one to the guard.
    pub(super) fn is_inner_unique(&mut self) -> bool {
        self.owner.inner().is_none_or(|mut inner| {
            // SAFETY: the caller has the only handle to the guard, and so to what is with it.
            unsafe { inner.as_mut() }.owner.is_unique()
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
    fn guard_goes_with_the_last_handle_and_before_the_memory() {
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
    fn unguarded_handles_keep_the_memory_and_not_the_guard() {
        let (drops, bytes) = (Arc::new(AtomicUsize::new(0)), Arc::<[u8]>::from([1, 2, 3]));
        let storage = Storage::from_owner(Arc::clone(&bytes));
        assert!(storage.unguarded().is_none());
        let name = storage.owner_name();
        let guard = Guard(Arc::clone(&drops), Arc::clone(&bytes));
        let guarded = storage.guarded(guard);
        assert_eq!((guarded.owner_name(), guarded.handles()), (name, 1));
        let bare = guarded.slice(1..3).unguarded().unwrap();
        assert_eq!((bare.data_ptr(), bare.bytes()), (bytes[1..].as_ptr(), 2));
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
