//! [`Owner`]: whoever keeps memory alive, its type forgotten, counted from the second handle on.
//!
//! ```text
//!   sole                                   counted
//!  ┌──────────────────┐                   ┌─────────┐      ┌────────────────────────┐
//!  │ the owner itself,│   clone, weak     │ pointer─┼─────▶│ Counted: counts,       │
//!  │ in two words     │ ────────────────▶ │         │      │ the owner in two words │
//!  └──────────────────┘                   └─────────┘      └────────────────────────┘
//! ```
//!
//! A `Vec` is a pointer and a capacity; what comes from another library is a pointer to a struct
//! with a deleter. They are kept as just that until somebody wants a second handle, so that neither
//! taking over a `Vec` nor an import allocates anything for it.

#[cfg(feature = "cuda")]
mod shown;

#[cfg(feature = "python")]
use super::Storage;
use super::counted::{Counted, Weak};
#[cfg(feature = "cuda")]
pub(crate) use shown::Keeper;
#[cfg(feature = "cuda")]
use std::any::TypeId;
use std::any::type_name;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// An owner that consists of two words, the first one even.
///
/// # Safety
///
/// The lowest bit of the first word is not set, and [`from_words`](Self::from_words) makes the
/// owner again.
pub(crate) unsafe trait SmallOwner: Send + Sized + 'static {
    /// The words: as pointers, because integers would forget what may be reached through them.
    fn into_words(self) -> [*mut (); 2];

    /// The owner that became these words.
    ///
    /// # Safety
    ///
    /// They came from [`into_words`](Self::into_words), and are used once.
    unsafe fn from_words(words: [*mut (); 2]) -> Self;

    /// Waits until the processor may look at the memory.
    ///
    /// # Errors
    ///
    /// Why that won't be.
    ///
    /// # Safety
    ///
    /// They came from [`into_words`](Self::into_words), and weren't used yet.
    #[cfg(feature = "cuda")]
    unsafe fn settle(_words: [*mut (); 2]) -> Result<(), String> {
        Ok(())
    }

    /// For an owner that is another storage and a guard of it: where that storage is, as long as the owner
    /// with these words is there.
    #[cfg(feature = "python")]
    const INNER: Option<InnerStorage> = None;
}

/// Finds the storage inside of an owner with these words.
#[cfg(feature = "python")]
pub(crate) type InnerStorage = unsafe fn([*mut (); 2]) -> NonNull<Storage>;

/// An owner whose type is forgotten.
struct Erased {
    words: [*mut (); 2],
    vtable: &'static Vtable,
}

struct Vtable {
    name: fn() -> &'static str,
    #[cfg(feature = "cuda")]
    id: fn() -> TypeId,
    #[cfg(feature = "cuda")]
    settle: unsafe fn([*mut (); 2]) -> Result<(), String>,
    #[cfg(feature = "python")]
    inner: Option<InnerStorage>,
    release: unsafe fn([*mut (); 2]),
}

/// How owners of type `O` are released.
struct VtableOf<O>(O);

impl<O: SmallOwner> VtableOf<O> {
    const VTABLE: Vtable = Vtable {
        name: type_name::<O>,
        #[cfg(feature = "cuda")]
        id: TypeId::of::<O>,
        #[cfg(feature = "cuda")]
        settle: O::settle,
        #[cfg(feature = "python")]
        inner: O::INNER,
        // SAFETY: the caller releases an owner of this type, once.
        release: |words| drop(unsafe { O::from_words(words) }),
    };
}

// SAFETY: the words are those of an owner that is `Send`, and are used once, to release it.
unsafe impl Send for Erased {}
// SAFETY: a shared reference to it gives nothing but a name.
unsafe impl Sync for Erased {}

impl Drop for Erased {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the words are those of an owner of the vtable's type, and go with `self`.
        unsafe { (self.vtable.release)(self.words) }
    }
}

/// Keeps memory alive. See [this module](self).
pub(crate) struct Owner {
    /// The owner's first word with [`SOLE`] set, or a pointer that a [`Counted`] gave.
    state: AtomicPtr<()>,
    /// The owner's second word, unless it is counted.
    word: *mut (),
    vtable: &'static Vtable,
}

/// Set while the owner has one handle and isn't counted.
const SOLE: usize = 1;

// SAFETY: an owner is `Send`, and what is counted is made to be shared.
unsafe impl Send for Owner {}
// SAFETY: a shared reference gives handles, which are counted atomically, and nothing of the owner.
unsafe impl Sync for Owner {}

impl Owner {
    /// An owner for memory that needs none.
    #[inline]
    pub(crate) fn none() -> Self {
        Self::small(Nobody)
    }

    /// Keeps an owner of two words, without an allocation.
    #[inline]
    pub(crate) fn small<O: SmallOwner>(owner: O) -> Self {
        let [first, word] = owner.into_words();
        debug_assert_eq!(first.addr() & SOLE, 0);
        Self {
            state: AtomicPtr::new(first.map_addr(|address| address | SOLE)),
            word,
            vtable: &VtableOf::<O>::VTABLE,
        }
    }

    /// Keeps anything, and calls `look` with it once it is where it stays.
    ///
    /// Nobody makes a reference to it from then on, so what `look` borrows from it stays valid.
    pub(crate) fn lend<O, R>(owner: O, look: impl FnOnce(&mut O) -> R) -> (Self, R)
    where
        O: Send + 'static,
    {
        let boxed = Boxed::new(owner);
        // SAFETY: the pointer is that of a box, and nobody else has it.
        let result = look(unsafe { &mut (*boxed.0).0 });
        (Self::small(boxed), result)
    }

    /// The owner's words, wherever they are. They still belong to it.
    #[cfg(any(feature = "cuda", feature = "python"))]
    fn words(&self) -> [*mut (); 2] {
        let state = self.state.load(Ordering::Acquire);
        match self.sole(state) {
            Some(owner) => owner.words,
            None => handle(state).words,
        }
    }

    /// The storage that this owner keeps with a guard, where it is one that does. It is there as long as
    /// the owner.
    #[cfg(feature = "python")]
    #[inline]
    pub(super) fn inner(&self) -> Option<NonNull<Storage>> {
        // SAFETY: the words are those of an owner of the vtable's type, which is there as long as `self`.
        self.vtable
            .inner
            .map(|inner| unsafe { inner(self.words()) })
    }

    /// The owner itself, unless it is counted. It still belongs to `self`.
    #[inline]
    fn sole(&self, state: *mut ()) -> Option<ManuallyDrop<Erased>> {
        (state.addr() & SOLE != 0).then(|| {
            ManuallyDrop::new(Erased {
                words: [state.map_addr(|address| address & !SOLE), self.word],
                vtable: self.vtable,
            })
        })
    }

    /// The handle that `self` has, once it is counted. It still belongs to `self`.
    #[inline]
    fn counted(&self) -> ManuallyDrop<Counted<Erased>> {
        let state = self.state.load(Ordering::Acquire);
        match self.sole(state) {
            None => handle(state),
            Some(owner) => self.count(state, owner),
        }
    }

    /// Has the sole owner counted from now on.
    #[cold]
    fn count(&self, sole: *mut (), owner: ManuallyDrop<Erased>) -> ManuallyDrop<Counted<Erased>> {
        // The owner is in two places now, of which one is forgotten whichever way it goes.
        let counted = Counted::new(owner).into_raw();
        match self.state.compare_exchange(
            sole,
            counted.as_ptr().cast(),
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => handle(counted.as_ptr().cast()),
            Err(state) => {
                // Another thread was faster, and its one has the owner.
                // SAFETY: nobody else has seen ours. What it holds is not dropped.
                drop(unsafe { Counted::from_raw(counted) });
                handle(state)
            }
        }
    }

    /// Whether this is the only handle, and no weak one is left either.
    #[inline]
    pub(crate) fn is_unique(&mut self) -> bool {
        let state = *self.state.get_mut();
        self.sole(state).is_some() || handle(state).is_unique()
    }

    /// How many handles there are.
    pub(crate) fn handles(&self) -> usize {
        let state = self.state.load(Ordering::Acquire);
        match self.sole(state) {
            Some(_) => 1,
            None => handle(state).handles(),
        }
    }

    /// The name of the owner's type, for people.
    pub(crate) fn name(&self) -> &'static str {
        (self.vtable.name)()
    }

    pub(crate) fn downgrade(&self) -> WeakOwner {
        WeakOwner(self.counted().downgrade())
    }

    /// The owner that the handle keeps.
    fn from_handle(handle: Counted<Erased>) -> Self {
        Self {
            vtable: handle.vtable,
            state: AtomicPtr::new(handle.into_raw().as_ptr().cast()),
            word: ptr::null_mut(),
        }
    }
}

/// The handle of a state that isn't sole. It belongs to whoever has the state.
#[inline]
fn handle(state: *mut ()) -> ManuallyDrop<Counted<Erased>> {
    debug_assert!(!state.is_null() && state.addr() & SOLE == 0);
    // SAFETY: a state is either sole, which the callers have excluded, or a pointer that a handle
    // gave. It isn't dropped by having two handles of it, as this one isn't.
    unsafe {
        let counted = NonNull::new_unchecked(state.cast());
        ManuallyDrop::new(Counted::from_raw(counted))
    }
}

impl Clone for Owner {
    #[inline]
    fn clone(&self) -> Self {
        Self::from_handle(Counted::clone(&self.counted()))
    }
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        let state = *self.state.get_mut();
        match self.sole(state) {
            Some(owner) => drop(ManuallyDrop::into_inner(owner)),
            None => drop(ManuallyDrop::into_inner(handle(state))),
        }
    }
}

/// Doesn't keep memory alive, but knows whether it is.
#[derive(Clone)]
pub(crate) struct WeakOwner(Weak<Erased>);

impl WeakOwner {
    pub(crate) fn upgrade(&self) -> Option<Owner> {
        self.0.upgrade().map(Owner::from_handle)
    }
}

/// Owns nothing.
struct Nobody;

// SAFETY: NULL is even.
unsafe impl SmallOwner for Nobody {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        [ptr::null_mut(); 2]
    }

    unsafe fn from_words(_words: [*mut (); 2]) -> Self {
        Self
    }
}

/// A box that never claims to be the only way to its content, which memory may lie inside of.
pub(super) struct Boxed<O>(*mut Even<O>);

/// Makes the pointer to it even.
#[repr(align(2))]
pub(super) struct Even<O>(pub(super) O);

impl<O> Boxed<O> {
    pub(super) fn new(owner: O) -> Self {
        Self(Box::into_raw(Box::new(Even(owner))))
    }
}

// SAFETY: it owns an `O`.
unsafe impl<O: Send> Send for Boxed<O> {}

impl<O> Drop for Boxed<O> {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of a box, which goes with it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

// SAFETY: the pointer is to something aligned to 2 bytes.
unsafe impl<O: Send + 'static> SmallOwner for Boxed<O> {
    fn into_words(self) -> [*mut (); 2] {
        [ManuallyDrop::new(self).0.cast(), ptr::null_mut()]
    }

    unsafe fn from_words([pointer, _]: [*mut (); 2]) -> Self {
        Self(pointer.cast())
    }
}

#[cfg(test)]
mod tests;
