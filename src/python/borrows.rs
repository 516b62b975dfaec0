//! The list of borrows: Python's memory that Rust code is using at present.
//!
//! Each borrowed argument has an entry: what its object described, and what keeps the memory
//! alive. An argument that is to be written is compared with all entries, and one that is to be
//! read with those that are being written; so no two calls that are under way, of one thread or
//! of several, write what another one uses.
//!
//! Entries stay where they are made, and are used again: an argument is a pointer to one. With a
//! GIL, the list needs no lock: arguments are made and dropped by the thread that is attached.

mod beyond_call;
mod entry;
mod fill;
mod fork;
mod keep_alive;
mod lists;
#[cfg(test)]
mod tests;

use crate::storage::Storage;
use crate::tensor::Tensor;
pub(super) use beyond_call::is_kept;
use entry::KeptLayout;
pub(super) use entry::{Entry, NoteWritten};
pub(super) use keep_alive::{Aligned, Keep};
use lists::BORROWS;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use std::ptr::{self, NonNull};

/// Returns the id of a call that compares its arguments itself.
///
/// # Safety
///
/// The thread is attached to Python.
#[cfg(feature = "kernels")]
#[inline]
pub(super) unsafe fn next_call_id() -> usize {
    // SAFETY: the thread is attached, and the closure runs no Python code.
    unsafe {
        BORROWS.with(|lists| {
            // Not 0, and none that is in use, unless `usize::MAX` calls are in flight.
            lists.call_ids = lists.call_ids.wrapping_add(1).max(1);
            lists.call_ids
        })
    }
}

/// Returns an entry that isn't in use yet, to be filled.
///
/// # Safety
///
/// The thread is attached to Python.
#[inline]
pub(super) unsafe fn blank() -> NonNull<Entry> {
    // SAFETY: the thread is attached, and the closure runs no Python code; an entry of the free
    // list is whole, and leaves it here.
    let reused = unsafe {
        BORROWS.with(|lists| {
            let entry = NonNull::new(lists.free)?;
            lists.free = entry.as_ref().older.get();
            Some(entry)
        })
    };
    reused.unwrap_or_else(more)
}

#[cold]
fn more() -> NonNull<Entry> {
    fork::watch();
    // What points into an entry comes from this one pointer, and none of them from a reference, so
    // that making a reference takes nothing away from the others.
    // SAFETY: the pointer of a box isn't NULL.
    unsafe { NonNull::new_unchecked(Box::into_raw(Box::new(Entry::new()))) }
}

/// Points an entry to the number in it, of some bytes.
///
/// # Safety
///
/// [`blank`] gave the entry, which isn't in use, and no reference to it is.
pub(super) unsafe fn point_to_number(entry: NonNull<Entry>, bytes: usize) {
    let entry = entry.as_ptr();
    // SAFETY: the entry is there for good, and the caller's alone. The pointer to the number is
    // made of the entry's own, so that it lasts as long as the number.
    unsafe {
        let number = (&raw mut (*entry).number).cast::<u8>();
        (&raw mut (*entry).first).write(number);
        (&raw mut (*entry).bytes).write(number.addr()..number.addr() + bytes);
    }
}

/// Enters an argument's entry into the list. `false` if it aliases an entry, and either of the two
/// is written.
///
/// # Safety
///
/// The thread is attached to Python, and the entry, which [`blank`] gave, is filled.
#[inline]
pub(super) unsafe fn enter(entry: NonNull<Entry>, is_written: bool) -> bool {
    let here = 0_u8;
    // SAFETY: the thread is attached, and the closure runs no Python code; entries in the list are
    // whole, and this one isn't in it yet, so that no reference to it is in use.
    unsafe {
        (&raw mut (*entry.as_ptr()).is_written).write(is_written);
        (&raw mut (*entry.as_ptr()).stack).write((&raw const here).addr());
        BORROWS.with(|lists| {
            let this = entry.as_ref();
            if (is_written || lists.written > 0) && !lists.allows(this) {
                return false;
            }
            if is_written && is_kept(this) {
                return false;
            }
            lists.written += usize::from(is_written);
            let older = lists.used;
            if let Some(older) = older.as_ref() {
                older.newer.set(entry.as_ptr());
            }
            lists.used = entry.as_ptr();
            this.newer.set(ptr::null_mut());
            this.older.set(older);
            true
        })
    }
}

/// Removes an entry from the list, and releases it.
///
/// # Safety
///
/// The same as for [`enter`], which returned `true` for it.
#[inline(never)]
pub(super) unsafe fn leave(entry: NonNull<Entry>) {
    // SAFETY: the thread is attached, and `enter` put the entry into the list, in which its
    // neighbours are, too.
    unsafe {
        BORROWS.with(|lists| lists.unlink(entry.as_ref()));
        // At the end, so that what kept the tensor during the call is found changed, too.
        if entry.as_ref().is_written {
            tell(entry);
        }
        give_back(entry);
    }
}

/// Notifies the framework of a written argument, if it counts writes.
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

/// Releases an entry like [`give_back`], in cold code.
///
/// # Safety
///
/// The same as for [`give_back`].
#[cold]
#[inline(never)]
pub(super) unsafe fn give_back_unused(entry: NonNull<Entry>) {
    // SAFETY: the thread is attached, `blank` gave the entry, and it isn't in the list.
    unsafe { give_back(entry) }
}

/// Releases an entry that isn't in the list.
///
/// # Safety
///
/// The thread is attached to Python; [`blank`] gave the entry, and it isn't in the list. What it
/// keeps is released.
#[inline]
pub(super) unsafe fn give_back(mut entry: NonNull<Entry>) {
    // SAFETY: the entry is the caller's. What is released may run any Python code, so it comes
    // before the lists are read.
    unsafe {
        let this = entry.as_mut();
        if this.kept_layout == KeptLayout::None {
            this.become_scalar();
        }
        this.note_written = None; // It may have been set for an argument that was refused.
        let keep = this.keep.get_mut();
        if !matches!(keep, Keep::Object) {
            drop(std::mem::replace(keep, Keep::Object));
        }
        let object = std::mem::replace(&mut this.object, ptr::null_mut());
        ffi::Py_XDECREF(object);
        BORROWS.with(|lists| {
            entry.as_ref().older.set(lists.free);
            lists.free = entry.as_ptr();
        });
    }
}

/// Registers the memory of a tensor, which an entry that is in use is about, for as long as Rust
/// code keeps the tensor. Of memory that only a device reaches, nothing is registered: Rust code
/// can't read it.
pub(super) fn hold(entry: &Entry, tensor: Tensor) -> Tensor {
    let is_readable = entry.device.is_host_accessible() && !entry.layout().is_empty();
    if !is_readable || tensor.storage().unguarded().is_some() {
        return tensor;
    }
    fork::watch();
    // SAFETY: a thread that has an entry in use is attached. Memory is registered and entries are
    // entered one after the other, so that neither is missed by the other: the entry excludes
    // writers until it is done.
    let kept = unsafe { BORROWS.with(|_| beyond_call::KeptMemory::new(entry)) };
    // What isn't registered, as other rows of a tensor, others may write.
    let has_more = |storage: &Storage| {
        let begin = storage.data_ptr().addr();
        entry.bytes != (begin..begin + storage.nbytes()) || entry.layout().has_gaps()
    };
    tensor.with_storage(|storage| {
        let has_gaps = has_more(&storage);
        storage.with_gaps(has_gaps).guarded(kept)
    })
}

/// Returns the entries whose memory only the object keeps, and these objects.
pub(super) fn list_borrowed(py: Python<'_>) -> Vec<(NonNull<Entry>, Bound<'_, PyAny>)> {
    let mut all = Vec::new();
    // SAFETY: `py` says that the thread is attached. Entries in the list are whole, and have a
    // reference to their objects; taking another one runs no code.
    unsafe {
        BORROWS.with(|lists| {
            let mut next = lists.used;
            while let Some(entry) = next.as_ref() {
                if let (Some(object), Keep::Object) =
                    (Borrowed::from_ptr_or_opt(py, entry.object), entry.keep())
                {
                    all.push((NonNull::from(entry), object.to_owned()));
                }
                next = entry.older.get();
            }
        });
    }
    all
}
