//! [`Buffer`]: memory of a thread for packed panels, kept for its next product.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// The alignment: that of the largest registers, and of lines of the cache.
const ALIGNMENT: usize = 64;

/// Memory of some size, of which nothing is known.
pub(super) struct Buffer {
    first: *mut u8,
    nbytes: usize,
}

thread_local! {
    static KEPT: Cell<Buffer> = const { Cell::new(Buffer::EMPTY) };
}

impl Buffer {
    const EMPTY: Self = Self {
        first: ptr::null_mut(),
        nbytes: 0,
    };

    /// Calls a function with memory for parts of these numbers of bytes, each aligned to a line of
    /// the cache; with `None` where there isn't as much.
    pub(super) fn with<R, const PARTS: usize>(
        nbytes: [usize; PARTS],
        function: impl FnOnce(Option<[NonNull<u8>; PARTS]>) -> R,
    ) -> R {
        let aligned = nbytes.map(|nbytes| nbytes.next_multiple_of(ALIGNMENT));
        let mut buffer = KEPT.try_with(Cell::take).unwrap_or_default();
        if !buffer.grow(aligned.iter().sum()) {
            return function(None);
        }
        let mut begin = 0;
        let parts = aligned.map(|nbytes| {
            let part = buffer.first.wrapping_add(begin);
            begin += nbytes;
            NonNull::new(part).unwrap_or(NonNull::dangling())
        });
        let result = function(Some(parts));
        // After the thread's own values were dropped the memory isn't kept.
        let _ = KEPT.try_with(|kept| kept.set(buffer));
        result
    }

    /// Returns whether there are this many bytes, after they were allocated if need be.
    fn grow(&mut self, nbytes: usize) -> bool {
        if nbytes <= self.nbytes {
            return true;
        }
        *self = Self::EMPTY;
        let Ok(layout) = Layout::from_size_align(nbytes, ALIGNMENT) else {
            return false;
        };
        // SAFETY: the size isn't 0, as it is larger than another one.
        let first = unsafe { alloc(layout) };
        if first.is_null() {
            return false;
        }
        *self = Self { first, nbytes };
        true
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.nbytes > 0 {
            // SAFETY: `grow` allocated it with this size and alignment, which were valid then.
            unsafe {
                let layout = Layout::from_size_align_unchecked(self.nbytes, ALIGNMENT);
                dealloc(self.first, layout);
            }
        }
    }
}
