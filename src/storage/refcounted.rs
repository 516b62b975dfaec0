//! Reference counting: a value with strong and weak handles.
//!
//! It does what `Arc` does, and two things more: it is made in place, as the values are large and
//! moving what was just written costs more than writing it; and the last handle, which has no other
//! to agree with, gives the value up without an atomic read-modify-write.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Deref;
use std::process::abort;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A handle that keeps the value.
pub(crate) struct Counted<T> {
    block: NonNull<Block<T>>,
    owns: PhantomData<T>,
}

/// A handle that doesn't keep the value, only the room for it.
pub(crate) struct Weak<T>(NonNull<Block<T>>);

#[repr(C)]
struct Block<T> {
    /// Both counts, so that whether a handle is the only one can be seen at a glance: in the lower
    /// half the handles that keep the value, in the upper half the weak ones, to which all of the
    /// former together add one.
    counts: AtomicU64,
    value: T,
}

const STRONG: u64 = 1;
const WEAK: u64 = 1 << 32;
/// More handles than fit memory, unless they are forgotten in a loop.
const TOO_MANY: u64 = 1 << 31;

const fn strong(counts: u64) -> u64 {
    counts % WEAK
}

const fn weak(counts: u64) -> u64 {
    counts / WEAK
}

// SAFETY: handles on several threads share the value and drop it on any of them.
unsafe impl<T: Send + Sync> Send for Counted<T> {}
// SAFETY: a shared handle gives shared references and further handles, for which `T` is `Send` and
// `Sync`.
unsafe impl<T: Send + Sync> Sync for Counted<T> {}
// SAFETY: once it is upgraded, handles on several threads share the value and drop it on any of
// them.
unsafe impl<T: Send + Sync> Send for Weak<T> {}
// SAFETY: a shared weak handle gives further handles, for which `T` is `Send` and `Sync`.
unsafe impl<T: Send + Sync> Sync for Weak<T> {}

/// UninitCounted for a value, to be written in place.
pub(crate) struct UninitCounted<T>(Counted<MaybeUninit<T>>);

impl<T> UninitCounted<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        let layout = Layout::new::<Block<T>>();
        // SAFETY: a block is not empty.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        let block = block.cast::<Block<MaybeUninit<T>>>();
        // SAFETY: it was allocated for the purpose.
        unsafe { (&raw mut (*block.as_ptr()).counts).write(AtomicU64::new(STRONG + WEAK)) };
        Self(Counted {
            block,
            owns: PhantomData,
        })
    }

    /// Returns the address to which the value is written.
    #[inline]
    pub(crate) fn place(&mut self) -> *mut T {
        // SAFETY: the block is there as long as a handle is.
        unsafe { (&raw mut (*self.0.block.as_ptr()).value).cast() }
    }

    /// Completes the value, which was written.
    ///
    /// # Safety
    ///
    /// It is.
    #[inline]
    pub(crate) unsafe fn written(self) -> Counted<T> {
        let block = self.0.block.cast();
        std::mem::forget(self);
        Counted {
            block,
            owns: PhantomData,
        }
    }
}

impl<T> Counted<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Self {
        let mut room = UninitCounted::<T>::new();
        // SAFETY: the place is for the value.
        unsafe {
            room.place().write(value);
            room.written()
        }
    }

    /// Converts the handle to a pointer to the value, without a change of the count.
    #[inline]
    pub(crate) fn into_raw(self) -> NonNull<T> {
        let block = std::mem::ManuallyDrop::new(self).block;
        // SAFETY: the value lies in the block, which the handle keeps.
        unsafe { NonNull::new_unchecked(&raw mut (*block.as_ptr()).value) }
    }

    /// Returns the handle that [`into_raw`](Self::into_raw) converted.
    ///
    /// # Safety
    ///
    /// The pointer came from [`into_raw`](Self::into_raw), and is used once.
    #[inline]
    pub(crate) unsafe fn from_raw(value: NonNull<T>) -> Self {
        Self {
            // SAFETY: the value lies in a block.
            block: unsafe { value.byte_sub(offset_of!(Block<T>, value)) }.cast(),
            owns: PhantomData,
        }
    }

    #[inline]
    fn counts(&self) -> &AtomicU64 {
        // SAFETY: the block is there as long as a handle is.
        unsafe { &(*self.block.as_ptr()).counts }
    }

    /// Returns how many handles keep the value.
    #[inline]
    pub(crate) fn handles(&self) -> usize {
        strong(self.counts().load(Ordering::Relaxed)) as usize
    }

    /// Returns whether this is the only handle of either kind.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        // Only this handle can be cloned. What others did with the value before they
        // gave theirs up comes before what follows.
        self.counts().load(Ordering::Acquire) == STRONG + WEAK
    }

    /// Returns the value, to be changed, while there is no other handle of either kind.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: the handle is the only one, and borrowed.
        self.is_unique()
            .then(|| unsafe { &mut (*self.block.as_ptr()).value })
    }

    pub(crate) fn downgrade(&self) -> Weak<T> {
        let counts = self.counts().fetch_add(WEAK, Ordering::Relaxed);
        if weak(counts) >= TOO_MANY {
            abort();
        }
        Weak(self.block)
    }

    /// Drops the value, and frees the block once no weak handle is left.
    ///
    /// # Safety
    ///
    /// The last handle that keeps the value is going away.
    #[inline]
    unsafe fn drop_value(&mut self) {
        // Gives the room up also when the value panics.
        let _room = Weak(self.block);
        // SAFETY: no code uses the value any more.
        unsafe { (&raw mut (*self.block.as_ptr()).value).drop_in_place() }
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the handle keeps the value.
        unsafe { &(*self.block.as_ptr()).value }
    }
}

impl<T> Clone for Counted<T> {
    #[inline]
    fn clone(&self) -> Self {
        let counts = self.counts().fetch_add(STRONG, Ordering::Relaxed);
        if strong(counts) >= TOO_MANY {
            abort();
        }
        Self { ..*self }
    }
}

impl<T> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_unique() {
            let counts = self.counts().fetch_sub(STRONG, Ordering::Release);
            if strong(counts) != 1 {
                return;
            }
            // What others did with the value comes before its end.
            fence(Ordering::Acquire);
        }
        // SAFETY: it is the last handle.
        unsafe { self.drop_value() }
    }
}

impl<T> Weak<T> {
    fn counts(&self) -> &AtomicU64 {
        // SAFETY: the block is there as long as a handle of either kind is.
        unsafe { &(*self.0.as_ptr()).counts }
    }

    /// Returns a handle that keeps the value, if it is still there.
    pub(crate) fn upgrade(&self) -> Option<Counted<T>> {
        let add = |counts| (strong(counts) != 0).then_some(counts + STRONG);
        let counts = self
            .counts()
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, add)
            .ok()?;
        if strong(counts) >= TOO_MANY {
            abort();
        }
        Some(Counted {
            block: self.0,
            owns: PhantomData,
        })
    }
}

impl<T> Clone for Weak<T> {
    fn clone(&self) -> Self {
        let counts = self.counts().fetch_add(WEAK, Ordering::Relaxed);
        if weak(counts) >= TOO_MANY {
            abort();
        }
        Self(self.0)
    }
}

impl<T> Drop for Weak<T> {
    #[inline]
    fn drop(&mut self) {
        // If this is the last handle of either kind, no other thread needs the store.
        if weak(self.counts().load(Ordering::Acquire)) != 1 {
            let counts = self.counts().fetch_sub(WEAK, Ordering::Release);
            if weak(counts) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: no handle of either kind exists, and the value was dropped or moved out.
        drop(unsafe { Box::from_raw(self.0.as_ptr().cast::<Block<MaybeUninit<T>>>()) });
    }
}
