//! Type-erased owners of memory, refcounted from the second handle on.
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
//! with a deleter. They stay unboxed until a second handle is requested, so that neither
//! taking over a `Vec` nor an import allocates anything for it.

mod inspectable;

use super::refcounted::{Counted, Weak};
pub use inspectable::SyncOwner;
use std::any::{TypeId, type_name};
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
    /// Returns the words, as pointers, because integers would lose their provenance.
    fn into_words(self) -> [*mut (); 2];

    /// Returns the owner that was stored in these words.
    ///
    /// # Safety
    ///
    /// They came from [`into_words`](Self::into_words), and are used once.
    unsafe fn from_words(words: [*mut (); 2]) -> Self;

    /// Waits until the CPU may access the memory.
    ///
    /// # Errors
    ///
    /// When it can't wait, or the work that it waits for failed: why.
    ///
    /// # Safety
    ///
    /// The words came from [`into_words`](Self::into_words), and weren't used yet.
    unsafe fn settle(_words: [*mut (); 2]) -> Result<(), String> {
        Ok(())
    }

    /// For an owner that is a guard and another owner: finds the latter, which lives as long as the
    /// words.
    #[cfg(feature = "python")]
    const INNER: Option<InnerOwner> = None;
}

/// Finds the owner inside of an owner with these words.
#[cfg(feature = "python")]
pub(crate) type InnerOwner = unsafe fn([*mut (); 2]) -> NonNull<Owner>;

/// A type-erased owner.
struct Erased {
    words: [*mut (); 2],
    vtable: &'static Vtable,
}

/// The functions of an owner's type.
struct Vtable {
    name: fn() -> &'static str,
    id: fn() -> TypeId,
    settle: unsafe fn([*mut (); 2]) -> Result<(), String>,
    #[cfg(feature = "python")]
    inner: Option<InnerOwner>,
    release: unsafe fn([*mut (); 2]),
}

/// Provides the vtable of owners of type `O`.
struct VtableOf<O>(O);

impl<O: SmallOwner> VtableOf<O> {
    const VTABLE: Vtable = Vtable {
        name: type_name::<O>,
        id: TypeId::of::<O>,
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

/// A type-erased owner of memory. See [this module](self).
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
    /// Creates an owner for memory that needs none.
    #[inline]
    pub(crate) fn none() -> Self {
        Self::small(NoOwner)
    }

    /// Creates an owner from one of two words, without an allocation.
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

    /// Boxes an owner, and calls `look` with it at its final address.
    ///
    /// No reference to it is made from then on, so what `look` borrows from it stays valid.
    pub(crate) fn lend<O, R>(owner: O, look: impl FnOnce(&mut O) -> R) -> (Self, R)
    where
        O: Send + 'static,
    {
        let boxed = Boxed::new(owner);
        // SAFETY: the pointer is that of a box, and no other code has it.
        let result = look(unsafe { &mut (*boxed.0).0 });
        (Self::small(boxed), result)
    }

    /// Returns the owner's words, wherever they are. They still belong to it.
    fn words(&self) -> [*mut (); 2] {
        let state = self.state.load(Ordering::Acquire);
        match self.sole(state) {
            Some(owner) => owner.words,
            None => handle(state).words,
        }
    }

    /// Returns the owner inside, if this one keeps another with a guard. It lives as long as
    /// `self`.
    #[cfg(feature = "python")]
    #[inline]
    pub(super) fn inner(&self) -> Option<NonNull<Self>> {
        // SAFETY: the words are those of an owner of the vtable's type, which is there as long as
        // `self`.
        self.vtable
            .inner
            .map(|inner| unsafe { inner(self.words()) })
    }

    /// Returns the owner itself, unless it is counted. It still belongs to `self`.
    #[inline]
    fn sole(&self, state: *mut ()) -> Option<ManuallyDrop<Erased>> {
        (state.addr() & SOLE != 0).then(|| {
            ManuallyDrop::new(Erased {
                words: [state.map_addr(|address| address & !SOLE), self.word],
                vtable: self.vtable,
            })
        })
    }

    /// Returns the counted handle of `self`, which is counted from now on. It still belongs to
    /// `self`.
    #[inline]
    fn counted(&self) -> ManuallyDrop<Counted<Erased>> {
        let state = self.state.load(Ordering::Acquire);
        match self.sole(state) {
            None => handle(state),
            Some(owner) => self.count(state, owner),
        }
    }

    /// Moves the sole owner into a counted block.
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
                // SAFETY: no other code has seen ours. What it holds is not dropped.
                drop(unsafe { Counted::from_raw(counted) });
                handle(state)
            }
        }
    }

    /// Checks whether this is the only handle, weak ones included.
    #[inline]
    pub(crate) fn is_unique(&mut self) -> bool {
        let state = *self.state.get_mut();
        self.sole(state).is_some() || handle(state).is_unique()
    }

    /// Takes the owner itself out, if it is of this type and this is the only handle.
    pub(super) fn take<O: SmallOwner>(&mut self) -> Option<O> {
        if (self.vtable.id)() != TypeId::of::<O>() || !self.is_unique() {
            return None;
        }
        let words = self.words();
        // What is left in its place, here or in the counted block, has nothing to release.
        let nothing = Self::none();
        let state = *self.state.get_mut();
        match self.sole(state) {
            Some(_) => std::mem::forget(std::mem::replace(self, nothing)),
            None => {
                let mut handle = handle(state);
                let erased = handle.get_mut().expect("the only handle");
                let [first, word] = NoOwner.into_words();
                let empty = Erased {
                    words: [first, word],
                    vtable: nothing.vtable,
                };
                std::mem::forget(std::mem::replace(erased, empty));
                *self = nothing;
            }
        }
        // SAFETY: the words are those of an owner of this type, as its vtable says, and no longer
        // anywhere else.
        Some(unsafe { O::from_words(words) })
    }

    /// Returns the number of handles.
    pub(crate) fn handles(&self) -> usize {
        let state = self.state.load(Ordering::Acquire);
        match self.sole(state) {
            Some(_) => 1,
            None => handle(state).handles(),
        }
    }

    /// Returns the name of the owner's type.
    pub(crate) fn name(&self) -> &'static str {
        (self.vtable.name)()
    }

    pub(crate) fn downgrade(&self) -> WeakOwner {
        WeakOwner(self.counted().downgrade())
    }

    /// Creates an owner from a counted handle.
    fn from_handle(handle: Counted<Erased>) -> Self {
        Self {
            vtable: handle.vtable,
            state: AtomicPtr::new(handle.into_raw().as_ptr().cast()),
            word: ptr::null_mut(),
        }
    }
}

/// Returns the handle of a state that isn't sole. It belongs to the state's holder.
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

/// A weak handle: it doesn't keep the owner alive.
#[derive(Clone)]
pub(crate) struct WeakOwner(Weak<Erased>);

impl WeakOwner {
    pub(crate) fn upgrade(&self) -> Option<Owner> {
        self.0.upgrade().map(Owner::from_handle)
    }
}

/// The owner of memory that needs none.
struct NoOwner;

// SAFETY: NULL is even.
unsafe impl SmallOwner for NoOwner {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        [ptr::null_mut(); 2]
    }

    unsafe fn from_words(_words: [*mut (); 2]) -> Self {
        Self
    }
}

/// A box that never claims to be the only way to its content, which memory may lie inside of.
pub(super) struct Boxed<O>(*mut Aligned2<O>);

/// Aligns its content to 2 bytes, so that a pointer to it is even.
#[repr(align(2))]
pub(super) struct Aligned2<O>(pub(super) O);

impl<O> Boxed<O> {
    pub(super) fn new(owner: O) -> Self {
        Self(Box::into_raw(Box::new(Aligned2(owner))))
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
