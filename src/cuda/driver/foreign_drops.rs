//! Drops of other libraries' owners, put off while a call uses addresses.
//!
//! An owner's drop may run its library's code, such as a `__del__` in Python, which may take the
//! memory away that the caller has the address of. [`HeldDrops`] puts such drops off.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

thread_local! {
    /// How many guards this thread has.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// Not dropped with the thread, as other drops at its end may come here later; the last guard
    /// leaves it empty.
    static PUT_OFF: ManuallyDrop<RefCell<Vec<Box<dyn Any + Send>>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Puts off this thread's drops of foreign owners, until the last guard is dropped.
#[must_use = "the drops are put off until this is dropped"]
#[derive(Debug)]
pub(crate) struct HeldDrops {
    _thread: PhantomData<*const ()>,
}

impl HeldDrops {
    pub(crate) fn new() -> Self {
        HELD.set(HELD.get() + 1);
        Self {
            _thread: PhantomData,
        }
    }
}

impl Drop for HeldDrops {
    fn drop(&mut self) {
        let left = HELD.get() - 1;
        HELD.set(left);
        if left == 0 {
            // A drop may put off others, under a guard of its own.
            let put_off = PUT_OFF.with(|put_off| put_off.take());
            drop(put_off);
        }
    }
}

/// Drops a value that may run foreign code: now, or when the thread's guards are gone.
pub(in crate::cuda) fn drop_foreign(value: impl Any + Send) {
    if HELD.get() == 0 {
        return drop(value);
    }
    PUT_OFF.with(|put_off| put_off.borrow_mut().push(Box::new(value)));
}

/// A foreign owner, whose drop can be put off.
pub(in crate::cuda) struct Foreign<T: Any + Send>(Option<T>);

impl<T: Any + Send> Foreign<T> {
    pub(in crate::cuda) fn new(owner: T) -> Self {
        Self(Some(owner))
    }
}

impl<T: Any + Send> Drop for Foreign<T> {
    fn drop(&mut self) {
        if let Some(owner) = self.0.take() {
            drop_foreign(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Foreign, HeldDrops, drop_foreign};
    use std::sync::Arc;

    #[test]
    fn held_drops_end_with_the_last_guard() {
        let owner = Arc::new(());
        drop_foreign(Arc::clone(&owner));
        assert_eq!(Arc::strong_count(&owner), 1, "nothing holds it up");
        let outer = HeldDrops::new();
        let inner = HeldDrops::new();
        drop_foreign(Arc::clone(&owner));
        drop(Foreign::new(Arc::clone(&owner)));
        drop(inner);
        assert_eq!(Arc::strong_count(&owner), 3);
        std::thread::scope(|scope| {
            let other = Arc::clone(&owner);
            scope.spawn(move || drop_foreign(other));
        });
        assert_eq!(Arc::strong_count(&owner), 3, "the guard is one thread's");
        drop(outer);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn drop_that_is_put_off_may_hold_others() {
        struct Owner(Arc<()>);
        impl Drop for Owner {
            fn drop(&mut self) {
                let _held = HeldDrops::new();
                drop_foreign(Arc::clone(&self.0));
                assert_eq!(Arc::strong_count(&self.0), 3);
            }
        }
        let count = Arc::new(());
        let held = HeldDrops::new();
        drop_foreign(Owner(Arc::clone(&count)));
        drop(held);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
