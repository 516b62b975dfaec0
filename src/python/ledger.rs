//! The ledger: what of Python's memory Rust code is using at present.
//!
//! Each borrowed argument has an entry: what its object looked like, and what keeps the memory
//! alive. An argument that is to be written is compared with all entries, and one that is to be
//! read with those that are being written; so no two calls that are under way, of one thread or
//! of several, write what another one uses.
//!
//! Entries stay where they are made, and are used again: an argument is a pointer to one. With a
//! GIL, the ledger needs no lock: arguments are made and dropped by the thread that is attached.

use super::look::Keep;
use crate::device::Device;
use crate::dtype::DType;
use crate::layout::{Layout, LayoutRef, Region};
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use std::cell::UnsafeCell;
use std::ops::Range;
use std::ptr::{self, NonNull};

/// Tells an object's framework that the object was written.
pub(super) type NoteWritten = fn(Borrowed<'_, '_, PyAny>);

/// What is known of one argument.
pub(super) struct Entry {
    /// The object, of which a reference is held; NULL for a number that was given instead.
    pub(super) object: *mut ffi::PyObject,
    /// The address of the element of index 0, or a handle.
    pub(super) first: *mut u8,
    /// The addresses of the bytes that the elements touch.
    pub(super) bytes: Range<usize>,
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) padded: bool,
    pub(super) read_only: bool,
    pub(super) is_written: bool,
    pub(super) layout: Layout,
    /// Whether the layout is of elements one after another, made in few steps: it stays when the
    /// entry is given back, for a next argument of the same shape.
    pub(super) is_usual: bool,
    pub(super) keep: Keep,
    /// Called when a written argument leaves, in frameworks that count changes; `None` in an entry that isn't used.
    pub(super) note_written: Option<NoteWritten>,
    /// Which call it is an argument of, where that compares its arguments itself; 0 elsewhere.
    pub(super) batch: usize,
    newer: *mut Entry,
    older: *mut Entry,
}

impl Entry {
    pub(super) fn new() -> Self {
        Self {
            object: ptr::null_mut(),
            first: ptr::null_mut(),
            bytes: 0..0,
            dtype: DType::U8,
            device: Device::CPU,
            padded: false,
            read_only: false,
            is_written: false,
            layout: Layout::SCALAR,
            is_usual: false,
            keep: Keep::Object,
            note_written: None,
            batch: 0,
            newer: ptr::null_mut(),
            older: ptr::null_mut(),
        }
    }

    #[inline]
    pub(super) fn layout(&self) -> LayoutRef<'_> {
        self.layout.as_ref()
    }

    fn region(&self) -> Region<'_> {
        Region {
            address: self.first.addr(),
            layout: self.layout(),
            dtype: self.dtype,
            padded: self.padded,
        }
    }

    /// Whether elements of both may be at one place.
    #[inline]
    fn may_meet(&self, other: &Self) -> bool {
        self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
            && self.meets(other)
    }

    /// Whether they are, of two whose ranges of addresses meet.
    #[cold]
    fn meets(&self, other: &Self) -> bool {
        if !self.device.may_share_memory_with(other.device) {
            return false;
        }
        !self.device.has_addresses() || !self.region().overlaps(&other.region()).is_excluded()
    }
}

struct Lists {
    /// Entries in use, newest first.
    used: *mut Entry,
    /// Entries to be used again.
    free: *mut Entry,
    /// How many of those in use are being written.
    written: usize,
    #[cfg(feature = "kernels")]
    batches: usize,
}

struct Ledger {
    /// Taken where there is no GIL.
    #[cfg(Py_GIL_DISABLED)]
    lock: std::sync::Mutex<()>,
    lists: UnsafeCell<Lists>,
}

// SAFETY: the lists are used by the thread that is attached to Python, or that has the lock.
unsafe impl Sync for Ledger {}

static LEDGER: Ledger = Ledger {
    #[cfg(Py_GIL_DISABLED)]
    lock: std::sync::Mutex::new(()),
    lists: UnsafeCell::new(Lists {
        used: ptr::null_mut(),
        free: ptr::null_mut(),
        written: 0,
        #[cfg(feature = "kernels")]
        batches: 0,
    }),
};

impl Ledger {
    /// Uses the lists.
    ///
    /// # Safety
    ///
    /// The thread is attached to Python, and `function` neither runs Python code nor comes here
    /// again.
    #[inline]
    unsafe fn with<R>(&self, function: impl FnOnce(&mut Lists) -> R) -> R {
        #[cfg(Py_GIL_DISABLED)]
        let _guard = self
            .lock
            .lock()
            .unwrap_or_else(|poison| poison.into_inner());
        // SAFETY: nobody else uses them meanwhile: of threads that are attached, only one runs,
        // or has the lock.
        function(unsafe { &mut *self.lists.get() })
    }
}

/// A number for the arguments of one call, which compares them itself.
///
/// # Safety
///
/// The thread is attached to Python.
#[cfg(feature = "kernels")]
#[inline]
pub(super) unsafe fn next_batch() -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        LEDGER.with(|lists| {
            // Not 0, and none that is in use, unless so many calls are under way.
            lists.batches = lists.batches.wrapping_add(1).max(1);
            lists.batches
        })
    }
}

/// An entry that isn't in use yet, to be filled.
///
/// # Safety
///
/// The thread is attached to Python.
#[inline]
pub(super) unsafe fn blank() -> NonNull<Entry> {
    // SAFETY: the caller's promise; an entry of the free list is whole, and leaves it here.
    let reused = unsafe {
        LEDGER.with(|lists| {
            let entry = NonNull::new(lists.free)?;
            lists.free = entry.as_ref().older;
            Some(entry)
        })
    };
    reused.unwrap_or_else(more)
}

#[cold]
fn more() -> NonNull<Entry> {
    NonNull::from(Box::leak(Box::new(Entry::new())))
}

/// Enters what an argument uses. `false` where another one writes it, or uses what this one is to
/// write.
///
/// # Safety
///
/// The thread is attached to Python, and the entry, which [`blank`] gave, is filled.
#[inline]
pub(super) unsafe fn enter(mut entry: NonNull<Entry>, is_written: bool) -> bool {
    // SAFETY: the caller's promise; entries in the list are whole while they are in it, and this
    // one isn't in it yet.
    unsafe {
        LEDGER.with(|lists| {
            entry.as_mut().is_written = is_written;
            let this = entry.as_ref();
            if (is_written || lists.written > 0) && !lists.allows(this) {
                return false;
            }
            lists.written += usize::from(is_written);
            let older = lists.used;
            if let Some(older) = older.as_mut() {
                older.newer = entry.as_ptr();
            }
            lists.used = entry.as_ptr();
            let this = entry.as_mut();
            (this.newer, this.older) = (ptr::null_mut(), older);
            true
        })
    }
}

impl Lists {
    /// Whether nobody else uses what this entry is for in a way that excludes it.
    fn allows(&self, new: &Entry) -> bool {
        let mut next = self.used;
        // SAFETY: entries in the list are whole.
        while let Some(entry) = unsafe { next.as_ref() } {
            let is_one_call = new.batch != 0 && new.batch == entry.batch;
            if (new.is_written || entry.is_written) && !is_one_call && new.may_meet(entry) {
                return false;
            }
            next = entry.older;
        }
        true
    }
}

/// Takes an entry out again, and gives it back.
///
/// # Safety
///
/// As of [`enter`], which returned `true` for it.
#[inline(never)]
pub(super) unsafe fn leave(entry: NonNull<Entry>) {
    // SAFETY: the caller's promise; its neighbours are in the list too.
    unsafe {
        LEDGER.with(|lists| {
            let this = entry.as_ref();
            lists.written -= usize::from(this.is_written);
            match this.newer.as_mut() {
                Some(newer) => newer.older = this.older,
                None => lists.used = this.older,
            }
            if let Some(older) = this.older.as_mut() {
                older.newer = this.newer;
            }
        });
        // At the end, so that what kept the tensor during the call is found changed, too.
        if entry.as_ref().is_written {
            tell(entry);
        }
        give_back(entry);
    }
}

/// Tells the framework of a written argument, if it wants to know.
///
/// # Safety
///
/// The thread is attached to Python, and has the entry, which isn't in the list.
#[inline]
unsafe fn tell(mut entry: NonNull<Entry>) {
    // SAFETY: the entry left the list, so only this thread has it; its function is for its object.
    unsafe {
        if let Some(note_written) = entry.as_mut().note_written.take() {
            let object = entry.as_ref().object;
            note_written(Borrowed::from_ptr(Python::assume_attached(), object));
        }
    }
}

/// [`give_back`], for what seldom happens.
///
/// # Safety
///
/// As of [`give_back`].
#[cold]
#[inline(never)]
pub(super) unsafe fn give_back_unused(entry: NonNull<Entry>) {
    // SAFETY: the caller's promise.
    unsafe { give_back(entry) }
}

/// Gives an entry back that isn't in use.
///
/// # Safety
///
/// The thread is attached to Python; [`blank`] gave the entry, and it isn't in the list. What it
/// keeps is released.
#[inline]
pub(super) unsafe fn give_back(mut entry: NonNull<Entry>) {
    // SAFETY: the entry is the caller's. What is released may run any Python code, so it comes
    // before the lists are looked at.
    unsafe {
        let this = entry.as_mut();
        if !this.is_usual {
            this.become_scalar();
        }
        if !matches!(this.keep, Keep::Object) {
            drop(std::mem::replace(&mut this.keep, Keep::Object));
        }
        let object = std::mem::replace(&mut this.object, ptr::null_mut());
        ffi::Py_XDECREF(object);
        LEDGER.with(|lists| {
            entry.as_mut().older = lists.free;
            lists.free = entry.as_ptr();
        });
    }
}
