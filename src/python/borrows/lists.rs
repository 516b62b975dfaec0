//! The lists of entries: those in use, and those to be used again.

use super::entry::Entry;
use std::cell::UnsafeCell;
use std::ptr;

/// Entries, linked by pointers in themselves.
pub(super) struct Lists {
    /// Entries in use, newest first.
    pub(super) used: *mut Entry,
    /// Entries to be used again.
    pub(super) free: *mut Entry,
    /// How many of those in use are being written.
    pub(super) written: usize,
    #[cfg(feature = "kernels")]
    pub(super) call_ids: usize,
}

/// The lists, and what guards them.
pub(super) struct Borrows {
    /// Held in builds without the GIL.
    #[cfg(Py_GIL_DISABLED)]
    lock: std::sync::Mutex<()>,
    lists: UnsafeCell<Lists>,
}

// SAFETY: the lists are used by the thread that is attached to Python, or that has the lock.
unsafe impl Sync for Borrows {}

pub(super) static BORROWS: Borrows = Borrows {
    #[cfg(Py_GIL_DISABLED)]
    lock: std::sync::Mutex::new(()),
    lists: UnsafeCell::new(Lists {
        used: ptr::null_mut(),
        free: ptr::null_mut(),
        written: 0,
        #[cfg(feature = "kernels")]
        call_ids: 0,
    }),
};

impl Borrows {
    #[cfg(Py_GIL_DISABLED)]
    pub(super) fn guard(&self) -> std::sync::MutexGuard<'_, ()> {
        self.lock
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }

    /// Calls a function with the lists.
    ///
    /// # Safety
    ///
    /// The thread is attached to Python, and `function` neither runs Python code nor comes here
    /// again.
    #[inline]
    pub(super) unsafe fn with<R>(&self, function: impl FnOnce(&mut Lists) -> R) -> R {
        #[cfg(Py_GIL_DISABLED)]
        let _guard = self.guard();
        // SAFETY: no other reference to the lists exists meanwhile: the thread is attached, so it
        // has the GIL, or has just locked the lock; and `function` doesn't come here again.
        function(unsafe { &mut *self.lists.get() })
    }
}

impl Lists {
    /// Removes an entry from the list of entries in use.
    ///
    /// # Safety
    ///
    /// It is in that list.
    #[inline(always)]
    pub(super) unsafe fn unlink(&mut self, this: &Entry) {
        let (newer, older) = (this.newer.get(), this.older.get());
        self.written -= usize::from(this.is_written);
        // SAFETY: the neighbours of an entry in the list are in it, too, and initialised.
        unsafe {
            match newer.as_ref() {
                Some(newer) => newer.older.set(older),
                None => self.used = older,
            }
            if let Some(older) = older.as_ref() {
                older.newer.set(newer);
            }
        }
    }

    /// Returns whether no other entry conflicts with this one.
    #[inline]
    pub(super) fn allows(&self, new: &Entry) -> bool {
        let mut next = self.used;
        // SAFETY: entries in the list are initialised.
        while let Some(entry) = unsafe { next.as_ref() } {
            let is_one_call = new.call_id != 0 && new.call_id == entry.call_id;
            if (new.is_written || entry.is_written) && !is_one_call && new.may_meet(entry) {
                return false;
            }
            next = entry.older.get();
        }
        true
    }
}
