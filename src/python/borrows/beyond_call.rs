//! Memory of Python's that Rust code keeps beyond a call, as a `Tensor` or `Owned`: registered as
//! read until the last Rust handle to it is dropped.
//!
//! Rust code may read kept memory at any time, on any thread, without asking. So an argument that
//! is to be written is refused where it overlaps such memory. Where none is kept, that costs a
//! written argument one load. Handles are dropped without the GIL, so the list has a lock of its
//! own, which is never held while other code runs.

use super::entry::Entry;
use crate::device::Device;
use crate::dtype::DType;
use crate::layout::{Layout, Region};
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// How many are in the list. Changed while the list is locked.
static COUNT: AtomicUsize = AtomicUsize::new(0);
static LIST: Mutex<Head> = Mutex::new(Head(ptr::null_mut()));

pub(super) struct Head(*mut Node);

// SAFETY: only the holder of the lock uses nodes, on any thread.
unsafe impl Send for Head {}

/// What is known of kept memory.
struct Node {
    /// The address of the element of index 0, or a handle.
    first: usize,
    bytes: Range<usize>,
    layout: Layout,
    dtype: DType,
    padded: bool,
    device: Device,
    newer: *mut Node,
    older: *mut Node,
}

/// Memory that is registered as kept, until this is dropped, on any thread.
pub(super) struct KeptMemory(NonNull<Node>);

// SAFETY: only the holder of the lock uses the node.
unsafe impl Send for KeptMemory {}

/// Returns the list, as long as it isn't given back.
pub(super) fn lock() -> MutexGuard<'static, Head> {
    LIST.lock().unwrap_or_else(|poison| poison.into_inner())
}

impl KeptMemory {
    #[inline]
    pub(super) fn new(entry: &Entry) -> Self {
        let node = Box::into_raw(Box::new(Node {
            first: entry.first.addr(),
            bytes: entry.bytes.clone(),
            layout: entry.layout.clone(),
            dtype: entry.dtype,
            padded: entry.padded,
            device: entry.device,
            newer: ptr::null_mut(),
            older: ptr::null_mut(),
        }));
        let mut head = lock();
        // SAFETY: this thread holds the lock, and nodes in the list are alive.
        unsafe {
            (*node).older = head.0;
            if !head.0.is_null() {
                (*head.0).newer = node;
            }
            head.0 = node;
            COUNT.fetch_add(1, Ordering::Relaxed);
            Self(NonNull::new_unchecked(node))
        }
    }
}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        let node = self.0.as_ptr();
        // SAFETY: this thread has the lock, and nodes in the list are there. Afterwards this
        // thread alone has this one.
        unsafe {
            let mut head = lock();
            let (newer, older) = ((*node).newer, (*node).older);
            match newer.is_null() {
                true => head.0 = older,
                false => (*newer).older = older,
            }
            if !older.is_null() {
                (*older).newer = newer;
            }
            // A thread that sees the count without this one comes after all that was read.
            COUNT.fetch_sub(1, Ordering::Release);
            drop(head);
            drop(Box::from_raw(node));
        }
    }
}

impl Node {
    fn meets(&self, entry: &Entry) -> bool {
        if self.bytes.start >= entry.bytes.end || entry.bytes.start >= self.bytes.end {
            return false;
        }
        if !self.device.may_share_memory_with(entry.device) {
            return false;
        }
        let region = Region {
            address: self.first,
            layout: self.layout.as_ref(),
            dtype: self.dtype,
            padded: self.padded,
        };
        !region.overlaps(&entry.region()).is_excluded()
    }
}

/// Returns whether memory of an entry is kept by Rust code.
#[inline]
pub(in crate::python) fn is_kept(entry: &Entry) -> bool {
    COUNT.load(Ordering::Acquire) != 0 && is_in_list(entry)
}

#[cold]
#[inline(never)]
fn is_in_list(entry: &Entry) -> bool {
    let head = lock();
    let mut next: *const Node = head.0;
    // SAFETY: this thread holds the lock, and nodes in the list are alive.
    while let Some(node) = unsafe { next.as_ref() } {
        if node.meets(entry) {
            return true;
        }
        next = node.older;
    }
    false
}
