//! An alias of a tensor: another C++ tensor that keeps the same storage.

use crate::storage::SmallOwner;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

/// Where a C++ tensor is.
pub(super) type Handle = *const c_void;
/// Gives a C++ tensor back; 0 where that was done.
pub(super) type Release = unsafe extern "C" fn(Handle) -> c_int;

/// A C++ tensor that keeps a storage, and that no Python object leads to: nothing puts another
/// storage into it.
pub(in crate::python) struct Alias {
    pub(super) handle: Handle,
    pub(super) release: Release,
}

// SAFETY: any thread may release a C++ tensor. PyTorch takes the GIL where it needs it.
unsafe impl Send for Alias {}

// SAFETY: C++ tensors are aligned to pointers.
unsafe impl SmallOwner for Alias {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        let this = ManuallyDrop::new(self);
        [
            this.handle.cast_mut().cast(),
            this.release as *const () as *mut (),
        ]
    }

    unsafe fn from_words([handle, release]: [*mut (); 2]) -> Self {
        Self {
            handle: handle.cast(),
            // SAFETY: `into_words` made the word from a function of this type, as this function's
            // caller has to see to.
            release: unsafe { std::mem::transmute::<*mut (), Release>(release) },
        }
    }
}

impl Drop for Alias {
    fn drop(&mut self) {
        // SAFETY: PyTorch made the handle for this alias alone, and `release` is its function to
        // give one back; that is called once, as the alias is gone then. A failure leaves nothing
        // to do.
        unsafe { (self.release)(self.handle) };
    }
}
