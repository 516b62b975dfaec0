//! Embedded exports: managed tensors that lie inside the tensor that they keep.

use super::Tensor;
use super::inner::TensorInner;
use super::slot::Slot;
use crate::dlpack::{Abi, DLTensor, Deleter, Flags, Legacy, Managed, Versioned, run_deleter};
use crate::storage::Counted;
use std::cell::UnsafeCell;
use std::mem::{self, ManuallyDrop, offset_of};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

#[cfg(test)]
mod tests;

impl Tensor {
    /// Exports this handle from inside the tensor, or returns it if the slot is taken.
    ///
    /// # Safety
    ///
    /// The descriptor is true of the tensor, and flags are honest.
    #[inline]
    pub(crate) unsafe fn export_embedded<A: Abi>(
        self,
        descriptor: DLTensor,
        flags: Flags,
    ) -> Result<Managed<A>, Self> {
        let managed = self.embed::<A>()?;
        let place = managed.as_ptr();
        // SAFETY: the room is the export's until its deleter gives it up.
        unsafe {
            place.write(A::assemble(descriptor, flags, place.cast(), deleter::<A>()));
            Ok(Managed::from_raw_unchecked(managed))
        }
    }

    /// Reserves the slot for an embedded export, which keeps the tensor; returns the tensor if the
    /// slot is taken.
    #[inline]
    pub(crate) fn embed<G>(self) -> Result<NonNull<G>, Self> {
        const { assert!(size_of::<G>() <= size_of::<Versioned>()) };
        const { assert!(align_of::<G>() <= align_of::<Versioned>()) };
        if self.0.is_unique() {
            // An embedded export would have a handle too.
            self.0.slot.taken.store(true, Ordering::Relaxed);
        } else if self.0.slot.taken.swap(true, Ordering::Acquire) {
            return Err(self);
        }
        let inner = self.0.into_raw().as_ptr();
        // SAFETY: the place lies inside the block, which this handle keeps until the export gives
        // it up; it was just taken, so nothing else uses it.
        unsafe {
            let place = UnsafeCell::raw_get(&raw const (*inner).slot.place);
            Ok(NonNull::new_unchecked(place).cast())
        }
    }

    /// Returns the tensor in which an export was embedded.
    ///
    /// # Safety
    ///
    /// [`embed`](Self::embed) gave the export its room, which it doesn't use any more.
    #[inline]
    pub(crate) unsafe fn from_embedded<G>(export: NonNull<G>) -> Self {
        // SAFETY: `embed` gave the room, so the export is in the place of a slot that is taken.
        let inner = unsafe { inner(export) };
        inner.slot.taken.store(false, Ordering::Release);
        Self(inner)
    }

    /// Returns the tensor in which an export is embedded, if it is. The handle still belongs to the
    /// export.
    #[inline]
    pub(crate) fn behind<A: Abi>(managed: &Managed<A>) -> Option<ManuallyDrop<Self>> {
        // SAFETY: a managed tensor owns its struct.
        let theirs = unsafe { A::deleter(managed.as_ptr()) }?;
        if !ptr::fn_addr_eq(theirs, deleter::<A>()) {
            return None;
        }
        let managed = NonNull::new(managed.as_ptr())?;
        // SAFETY: only embedded exports have this deleter.
        Some(ManuallyDrop::new(Self(unsafe { inner(managed) })))
    }

    /// Takes back the handle of an embedded export.
    ///
    /// # Safety
    ///
    /// It is the one that [`behind`](Self::behind) found, and the export has no owner any more.
    #[inline]
    pub(crate) unsafe fn reclaim(tensor: ManuallyDrop<Self>) -> Self {
        tensor.0.slot.taken.store(false, Ordering::Release);
        ManuallyDrop::into_inner(tensor)
    }
}

/// Returns the handle that an embedded export has.
///
/// # Safety
///
/// The export is in the place of a slot that is taken.
#[inline]
unsafe fn inner<G>(export: NonNull<G>) -> Counted<TensorInner> {
    const PLACE: usize = offset_of!(TensorInner, slot) + offset_of!(Slot, place);
    // SAFETY: the place lies inside the block, of which the export has a handle.
    unsafe { Counted::from_raw(export.byte_sub(PLACE).cast()) }
}

/// The deleters, each at one address: a generic function may have several, and embedded exports are
/// recognised by it.
static DELETERS: (Deleter<Versioned>, Deleter<Legacy>) = (release, release);

/// Returns the deleter of embedded exports.
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

/// Releases an embedded export. It never unwinds: a panic of the memory's owner ends here.
///
/// # Safety
///
/// `managed` is NULL, or the place of a slot that was taken and not released yet.
unsafe extern "C" fn release<A: Abi>(managed: *mut A) {
    let Some(managed) = NonNull::new(managed) else {
        return;
    };
    // SAFETY: `managed` is the place of a slot that was taken, and the consumer gave the export up.
    let tensor = unsafe { Tensor::from_embedded(managed) };
    run_deleter(|| drop(tensor));
}
