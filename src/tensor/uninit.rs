//! Construction of tensors in place, which avoids a 200-byte copy of a layout that was just
//! written.

use super::Tensor;
use super::inner::{Parts, TensorInner};
use super::slot::Slot;
use crate::layout::Layout;
use crate::storage::UninitCounted;
use std::mem::ManuallyDrop;
use std::ptr;

/// A tensor of which only the layout is written, at its final address.
pub(crate) struct Uninit(UninitCounted<TensorInner>);

impl Uninit {
    /// Creates a tensor with the layout of a scalar, and nothing else yet.
    #[inline]
    pub(crate) fn new() -> Self {
        let mut room = UninitCounted::<TensorInner>::new();
        // SAFETY: the place has the size and alignment of a `TensorInner`, of which the layout is
        // written.
        unsafe { (&raw mut (*room.place()).layout).write(Layout::scalar()) };
        Self(room)
    }

    /// Borrows the layout mutably.
    #[inline]
    pub(crate) fn layout(&mut self) -> &mut Layout {
        // SAFETY: the layout was written in `new`.
        unsafe { &mut (*self.0.place()).layout }
    }

    /// Completes the tensor.
    ///
    /// # Safety
    ///
    /// Every element that the layout leads to, from the offset on, is in the storage (or, on a
    /// device without addresses, in what its handle stands for), and initialised.
    #[inline]
    pub(crate) unsafe fn finish(self, parts: Parts) -> Tensor {
        let mut this = ManuallyDrop::new(self);
        let place = this.0.place();
        // SAFETY: the layout was written in `new` and everything else is written here; `this` isn't
        // dropped, so its content can be moved out.
        unsafe {
            (&raw mut (*place).parts).write(parts);
            (&raw mut (*place).slot).write(Slot::new());
            Tensor(ptr::read(&this.0).written())
        }
    }
}

impl From<Layout> for Uninit {
    #[inline]
    fn from(layout: Layout) -> Self {
        let mut uninit = Self::new();
        *uninit.layout() = layout;
        uninit
    }
}

impl Drop for Uninit {
    fn drop(&mut self) {
        // SAFETY: the layout was written in `new`, and nothing else was.
        unsafe { (&raw mut (*self.0.place()).layout).drop_in_place() }
    }
}
