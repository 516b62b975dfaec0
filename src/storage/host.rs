//! Our own memory on the host: aligned for every framework, and zeroed lazily.

use super::owner::SmallOwner;
use crate::error::Error;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// Alignment of small buffers: what TensorFlow and JAX ask for before they share memory.
const ALIGNMENT: usize = 64;
/// Alignment of buffers from a page up: what DLPack's header recommends.
const LARGE_ALIGNMENT: usize = 256;
const PAGE: usize = 4096;

/// What allocators give anyway. Asking for more makes them slow, and zeroing touch every page; so
/// the room for a better alignment is allocated too.
const BASE_ALIGNMENT: usize = 16;

/// Allocators have small blocks at hand, but not zeroed ones.
const QUICK: usize = 1024;

/// An allocation, somewhere inside of which the buffer begins.
pub(super) struct HostBuffer {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain memory, which only its owner frees.
unsafe impl Send for HostBuffer {}

impl HostBuffer {
    /// Allocates `bytes` bytes, more than 0, and tells where they begin.
    pub(super) fn allocate(bytes: usize, zeroed: bool) -> Result<(Self, NonNull<u8>), Error> {
        let out_of_memory = || Error::OutOfMemory { bytes };
        let alignment = if bytes < PAGE {
            ALIGNMENT
        } else {
            LARGE_ALIGNMENT
        };
        let size = bytes
            .checked_add(alignment - BASE_ALIGNMENT)
            .ok_or_else(out_of_memory)?;
        let layout = Layout::from_size_align(size, BASE_ALIGNMENT).map_err(|_| out_of_memory())?;
        let clears = zeroed && size < QUICK;
        let allocate = if zeroed && !clears {
            alloc_zeroed
        } else {
            alloc
        };
        // SAFETY: the size is not 0, as `bytes` isn't.
        let base = NonNull::new(unsafe { allocate(layout) }).ok_or_else(out_of_memory)?;
        if clears {
            // SAFETY: that much was allocated.
            unsafe { base.write_bytes(0, size) };
        }
        let address = base.addr().get();
        // SAFETY: the base is aligned to 16, so that the next multiple of the alignment is at
        // most what was allocated in addition away.
        let data = unsafe { base.add(address.next_multiple_of(alignment) - address) };
        Ok((Self { base, layout }, data))
    }
}

// SAFETY: twice a size is even.
unsafe impl SmallOwner for HostBuffer {
    fn into_words(self) -> [*mut (); 2] {
        let this = ManuallyDrop::new(self);
        let size = ptr::without_provenance_mut(2 * this.layout.size());
        [size, this.base.as_ptr().cast()]
    }

    unsafe fn from_words([size, base]: [*mut (); 2]) -> Self {
        let layout = Layout::from_size_align(size.addr() / 2, BASE_ALIGNMENT);
        Self {
            base: NonNull::new(base.cast()).expect("it was not NULL"),
            layout: layout.expect("it was a layout before"),
        }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` with this layout, and freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
