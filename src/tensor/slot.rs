//! [`Slot`]: room inside a tensor for one export at a time, or another small guest that keeps it.

use super::Tensor;
use super::facts::Facts;
use crate::dlpack::{Abi, DLTensor, Deleter, Flags, Legacy, Managed, Versioned, contain_panics};
use crate::storage::Counted;
use std::cell::UnsafeCell;
use std::mem::{self, ManuallyDrop, MaybeUninit, offset_of};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(test)]
mod tests;

/// A managed tensor of either ABI, while it is out.
pub(super) struct Slot {
    taken: AtomicBool,
    /// The versioned struct is the larger one, and both are made of words.
    place: UnsafeCell<MaybeUninit<Versioned>>,
}

// SAFETY: the place is used by whoever took it alone.
unsafe impl Sync for Slot {}
// SAFETY: what is in it may be used by any thread.
unsafe impl Send for Slot {}

impl Slot {
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            place: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }
}

impl Tensor {
    /// Exports this handle from inside the tensor, or gives it back where another such export is
    /// out.
    ///
    /// # Safety
    ///
    /// The descriptor is true of the tensor, and flags are honest.
    #[inline]
    pub(crate) unsafe fn export_inside<A: Abi>(
        self,
        descriptor: DLTensor,
        flags: Flags,
    ) -> Result<Managed<A>, Self> {
        let managed = self.into_room::<A>()?;
        let place = managed.as_ptr();
        // SAFETY: the room is the export's until its deleter gives it up.
        unsafe {
            place.write(A::assemble(descriptor, flags, place.cast(), deleter::<A>()));
            Ok(Managed::from_raw_unchecked(managed))
        }
    }

    /// Room for a guest inside the tensor, which keeps it, or the tensor where its room is taken.
    #[inline]
    pub(crate) fn into_room<G>(self) -> Result<NonNull<G>, Self> {
        const { assert!(size_of::<G>() <= size_of::<Versioned>()) };
        const { assert!(align_of::<G>() <= align_of::<Versioned>()) };
        if self.0.is_unique() {
            // A guest would have a handle too.
            self.0.slot.taken.store(true, Ordering::Relaxed);
        } else if self.0.slot.taken.swap(true, Ordering::Acquire) {
            return Err(self);
        }
        let facts = self.0.into_raw().as_ptr();
        // SAFETY: the place lies inside the facts, which this handle keeps until the guest gives it
        // up, and nobody else uses it, as it was just taken.
        unsafe {
            let place = UnsafeCell::raw_get(&raw const (*facts).slot.place);
            Ok(NonNull::new_unchecked(place).cast())
        }
    }

    /// The tensor of which a guest had the room.
    ///
    /// # Safety
    ///
    /// [`into_room`](Self::into_room) gave the guest its room, which it doesn't use any more.
    #[inline]
    pub(crate) unsafe fn out_of_room<G>(guest: NonNull<G>) -> Self {
        // SAFETY: the caller's promise.
        let facts = unsafe { facts(guest) };
        facts.slot.taken.store(false, Ordering::Release);
        Self(facts)
    }

    /// The tensor that this is an export from inside of, if it is one. The handle still belongs to
    /// the export.
    #[inline]
    pub(crate) fn behind<A: Abi>(managed: &Managed<A>) -> Option<ManuallyDrop<Self>> {
        // SAFETY: a managed tensor owns its struct.
        let theirs = unsafe { A::deleter(managed.as_ptr()) }?;
        if !ptr::fn_addr_eq(theirs, deleter::<A>()) {
            return None;
        }
        let managed = NonNull::new(managed.as_ptr())?;
        // SAFETY: only exports from inside have this deleter.
        Some(ManuallyDrop::new(Self(unsafe { facts(managed) })))
    }

    /// Takes the handle back that an export from inside had.
    ///
    /// # Safety
    ///
    /// It is the one that [`behind`](Self::behind) found, and nobody owns the export any more.
    #[inline]
    pub(crate) unsafe fn reclaim(tensor: ManuallyDrop<Self>) -> Self {
        tensor.0.slot.taken.store(false, Ordering::Release);
        ManuallyDrop::into_inner(tensor)
    }
}

/// The handle that a guest has.
///
/// # Safety
///
/// The guest is in the place of a slot that is taken.
#[inline]
unsafe fn facts<G>(guest: NonNull<G>) -> Counted<Facts> {
    const PLACE: usize = offset_of!(Facts, slot) + offset_of!(Slot, place);
    // SAFETY: the place lies inside the facts, of which the guest has a handle.
    unsafe { Counted::from_raw(guest.byte_sub(PLACE).cast()) }
}

/// The deleters, in places of which there is one each: a generic function may have several
/// addresses, and exports are known by it.
static DELETERS: (Deleter<Versioned>, Deleter<Legacy>) = (release, release);

/// The deleter of exports from inside a tensor.
#[inline]
fn deleter<A: Abi>() -> Deleter<A> {
    // SAFETY: there are two ABIs, of which one has flags; so the type is the one that it has.
    unsafe {
        if A::HAS_FLAGS {
            mem::transmute_copy(&DELETERS.0)
        } else {
            mem::transmute_copy(&DELETERS.1)
        }
    }
}

/// The deleter of an export from inside a tensor. It never unwinds: should the memory's owner
/// panic when dropped, the panic ends here.
///
/// # Safety
///
/// `managed` is NULL, or the place of a slot that was taken and not released yet.
unsafe extern "C" fn release<A: Abi>(managed: *mut A) {
    let Some(managed) = NonNull::new(managed) else {
        return;
    };
    // SAFETY: the export is over.
    let tensor = unsafe { Tensor::out_of_room(managed) };
    contain_panics(|| drop(tensor));
}
