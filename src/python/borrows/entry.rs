//! [`Entry`]: one argument in the list of borrows.

use crate::device::Device;
use crate::dtype::DType;
use crate::layout::{Layout, LayoutRef, Region};
use crate::python::borrows::{Aligned, Keep};
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr;

/// Tells an object's framework that the object was written.
pub(in crate::python) type NoteWritten = fn(Borrowed<'_, '_, PyAny>);

/// Which layout an entry keeps beyond a call: comparing the next argument's numbers with it is
/// cheaper than validating them.
///
/// Gain: without [`Strided`](Self::Strided), a call with three transposed arrays takes 41% longer
/// for NumPy, and 24% for PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::python) enum KeptLayout {
    /// None: the layout is a scalar's before it is filled.
    None,
    /// A row-major layout.
    RowMajor,
    /// Any other layout that was validated, of elements of the entry's dtype in the memory of the
    /// CPU. They touch the bytes from `start` to `end`, relative to the element of index 0.
    Strided { start: isize, end: isize },
}

/// What is known of one argument.
///
/// While it is in use, only shared references to it are made: foreign code may run meanwhile, and
/// walks the list in other calls. What changes in this time is in cells.
pub(in crate::python) struct Entry {
    /// The object, of which a reference is held; NULL for a number that was given instead.
    pub(in crate::python) object: *mut ffi::PyObject,
    /// The address of the element of index 0, or a handle.
    pub(in crate::python) first: *mut u8,
    /// The addresses of the bytes that the elements touch.
    pub(in crate::python) bytes: Range<usize>,
    pub(in crate::python) dtype: DType,
    pub(in crate::python) device: Device,
    pub(in crate::python) padded: bool,
    pub(in crate::python) read_only: bool,
    pub(in crate::python) is_written: bool,
    pub(in crate::python) layout: Layout,
    /// What the layout still is when the entry is given back, for a next argument of the same shape
    /// and strides.
    pub(in crate::python) kept_layout: KeptLayout,
    pub(super) keep: UnsafeCell<Keep>,
    /// A number that was given instead of a tensor.
    pub(super) number: Aligned,
    /// Called when a written argument leaves, in frameworks that count changes; `None` in an entry
    /// that isn't used.
    pub(in crate::python) note_written: Option<NoteWritten>,
    /// Which call it is an argument of, where that compares its arguments itself; 0 elsewhere.
    pub(in crate::python) call_id: usize,
    /// An address on the stack of the thread that entered it, which tells threads apart after a
    /// fork.
    pub(super) stack: usize,
    pub(super) newer: Cell<*mut Entry>,
    pub(super) older: Cell<*mut Entry>,
}

impl Entry {
    pub(in crate::python) fn new() -> Self {
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
            kept_layout: KeptLayout::None,
            keep: UnsafeCell::new(Keep::Object),
            number: Aligned::ZERO,
            note_written: None,
            call_id: 0,
            stack: 0,
            newer: Cell::new(ptr::null_mut()),
            older: Cell::new(ptr::null_mut()),
        }
    }

    /// Returns the owner that keeps the memory, beside the object.
    #[inline]
    pub(in crate::python) fn keep(&self) -> &Keep {
        // SAFETY: it is only replaced by `keep_for_good`, while it is `Keep::Object`, and no
        // reference that was returned here is held across that: its callers look at it and let it
        // go.
        unsafe { &*self.keep.get() }
    }

    /// Sets the owner of the memory, of an entry that isn't in use yet.
    #[inline]
    pub(in crate::python) fn set_keep(&mut self, keep: Keep) {
        *self.keep.get_mut() = keep;
    }

    /// Replaces the object as the owner of the memory, of an entry in use.
    pub(in crate::python) fn keep_for_good(&self, keep: Keep) {
        assert!(matches!(self.keep(), Keep::Object));
        // SAFETY: entries are used by threads that are attached, one at a time; no reference to the
        // old value is in use (see `keep`), which has nothing to drop.
        unsafe { self.keep.get().write(keep) }
    }

    /// Takes a number in, without its address, which [`point_to_number`](super::point_to_number)
    /// adds.
    pub(in crate::python) fn set_number(&mut self, number: Aligned) {
        self.number = number;
        self.set_keep(Keep::Number);
    }

    #[inline]
    pub(in crate::python) fn layout(&self) -> LayoutRef<'_> {
        self.layout.as_ref()
    }

    pub(super) fn region(&self) -> Region<'_> {
        Region {
            address: self.first.addr(),
            layout: self.layout(),
            dtype: self.dtype,
            padded: self.padded,
        }
    }

    /// Returns whether elements of both may overlap.
    #[inline]
    pub(super) fn may_meet(&self, other: &Self) -> bool {
        self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
            && self.meets(other)
    }

    /// Returns whether elements overlap, of two entries whose ranges of addresses do.
    #[cold]
    fn meets(&self, other: &Self) -> bool {
        if !self.device.may_share_memory_with(other.device) {
            return false;
        }
        !self.device.has_addresses() || !self.region().overlaps(&other.region()).is_excluded()
    }
}
