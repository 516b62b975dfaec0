//! [`Slot`]: room inside a tensor for one embedded export, so that exporting allocates nothing.

use crate::dlpack::Versioned;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;

/// Room for a managed tensor of either ABI, or another small struct that keeps the tensor.
pub(super) struct Slot {
    pub(super) taken: AtomicBool,
    /// The versioned struct is the larger one, and both consist of words.
    pub(super) place: UnsafeCell<MaybeUninit<Versioned>>,
}

// SAFETY: only the holder that set `taken` uses the place.
unsafe impl Sync for Slot {}
// SAFETY: any thread may use what is in the place.
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
