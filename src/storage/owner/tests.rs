use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

// SAFETY: an Arc's pointer is to something aligned to 8 bytes.
unsafe impl SmallOwner for Counted {
    fn into_words(self) -> [*mut (); 2] {
        let pointer = Arc::into_raw(Arc::clone(&self.0));
        std::mem::forget(self);
        [pointer.cast_mut().cast(), ptr::without_provenance_mut(7)]
    }

    unsafe fn from_words([pointer, seven]: [*mut (); 2]) -> Self {
        assert_eq!(seven.addr(), 7);
        // SAFETY: the pointer came from an Arc, of which one count was forgotten beside it.
        let counter = unsafe { Arc::from_raw(pointer.cast_const().cast()) };
        // SAFETY: the pointer came from an Arc; this is the count that was forgotten beside it.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&counter)) };
        Self(counter)
    }
}

fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

fn sole(drops: &Arc<AtomicUsize>) -> Owner {
    Owner::small(Counted(Arc::clone(drops)))
}

#[test]
fn sole_owner_is_dropped_once() {
    let drops = counter();
    drop(sole(&drops));
    assert_eq!(drops.load(SeqCst), 1);
    drop(Owner::none());
    drop(Owner::none().clone());
}

#[test]
fn handles_are_counted_from_the_second_on() {
    let drops = counter();
    let mut first = sole(&drops);
    assert!(first.is_unique() && first.handles() == 1);
    let second = first.clone();
    assert_eq!((first.handles(), second.handles()), (2, 2));
    assert!(!first.is_unique());
    assert_eq!(first.name(), second.name());
    drop(second);
    assert!(first.is_unique() && drops.load(SeqCst) == 0);
    drop(first);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn weak_handle_makes_owner_shared() {
    let drops = counter();
    let mut owner = sole(&drops);
    let weak = owner.downgrade();
    assert!(!owner.is_unique());
    let upgraded = weak.clone().upgrade().unwrap();
    drop(owner);
    assert_eq!(drops.load(SeqCst), 0);
    drop(upgraded);
    assert_eq!(drops.load(SeqCst), 1);
    assert!(weak.upgrade().is_none());
}

#[test]
fn owners_of_every_size_and_alignment_are_dropped_once() {
    #[repr(align(64))]
    struct Aligned {
        _counted: Counted,
    }
    let drops = counter();
    let counted = || Counted(Arc::clone(&drops));
    let (small, ()) = Owner::lend((7_u8, counted()), |_| ());
    assert!(small.name().contains("Counted"));
    let (large, ()) = Owner::lend(([0_u64; 9], counted()), |_| ());
    let aligned = Aligned {
        _counted: counted(),
    };
    let (aligned, misaligned) = Owner::lend(aligned, |owner| (&raw const *owner).addr() % 64);
    assert_eq!(misaligned, 0);
    drop((small, large.clone(), large, aligned));
    assert_eq!(drops.load(SeqCst), 3);
    drop(Owner::lend((), |_| ()));
}

#[test]
fn pointer_into_lent_owner_stays_valid() {
    let (mut owner, numbers) = Owner::lend([1_u8, 2, 3], |array| array.as_mut_ptr());
    assert!(owner.is_unique());
    let clone = owner.clone();
    assert!(!owner.is_unique());
    // SAFETY: the array is kept where it was lent, and no other code uses it.
    unsafe {
        *numbers = 7;
        assert_eq!(*numbers.add(2), 3);
    }
    drop((owner, clone));
}

#[test]
fn racing_first_clones_share_one_node() {
    for _ in 0..if cfg!(miri) { 8 } else { 1000 } {
        let drops = counter();
        let owner = sole(&drops);
        thread::scope(|scope| {
            scope.spawn(|| drop((owner.clone(), owner.clone())));
            scope.spawn(|| drop((owner.clone(), owner.downgrade())));
            scope.spawn(|| drop((owner.downgrade().upgrade(), owner.clone())));
        });
        assert_eq!((owner.handles(), drops.load(SeqCst)), (1, 0));
        drop(owner);
        assert_eq!(drops.load(SeqCst), 1);
    }
}

#[test]
fn panicking_owner_still_frees_its_node() {
    struct Panics(Counted);
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("dropped {} times before", self.0.0.load(SeqCst));
        }
    }
    let drops = counter();
    let (owner, ()) = Owner::lend(Panics(Counted(Arc::clone(&drops))), |_| ());
    let clone = owner.clone();
    drop(owner);
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(clone)));
    assert!(dropped.is_err());
    assert_eq!(drops.load(SeqCst), 1);
}
