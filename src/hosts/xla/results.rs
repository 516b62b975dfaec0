//! Results in memory of XLA's.

use crate::device::Device;
use crate::dtype::DType;
use crate::hosts::operands::Described;
use crate::kernel::{CallHost, Failure, Operand};
use crate::layout::Layout;
use crate::storage::Contents;
use std::ptr;

/// The results of a call, which XLA keeps, in order.
pub(super) struct Results<'a> {
    buffers: std::slice::Iter<'a, Described>,
}

impl<'a> Results<'a> {
    /// # Safety
    ///
    /// The buffers are results of a call that lasts until this is dropped.
    pub(super) unsafe fn new(buffers: &'a [Described]) -> Self {
        Self {
            buffers: buffers.iter(),
        }
    }
}

// SAFETY: each buffer is given once; XLA keeps results until the call is over, and doesn't use
// them meanwhile; layouts are borrowed for longer than the host.
unsafe impl CallHost for Results<'_> {
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        if device != Device::CPU {
            return Err(format!("expected a result on the CPU, got {device}").into());
        }
        let missing = || Failure::from("XLA has no more results");
        let buffer = self.buffers.next().ok_or_else(missing)?;
        if buffer.dtype != dtype || buffer.layout.shape() != shape {
            let (of, sizes) = (buffer.dtype, buffer.layout.shape());
            let text = format!("XLA's result is {of} {sizes:?}, the op's is {dtype} {shape:?}");
            return Err(text.into());
        }
        if contents == Contents::Zeros && buffer.nbytes() > 0 {
            // SAFETY: the result has as many bytes, and no other code uses it.
            unsafe { buffer.first.write_bytes(0, buffer.nbytes()) };
        }
        // SAFETY: the layout is borrowed until the call is over.
        let layout: &'a Layout = unsafe { &*ptr::from_ref(&buffer.layout) };
        let first = buffer.first;
        // SAFETY: XLA keeps the result until the call is over, and doesn't use it meanwhile. Its
        // elements are zeros or, if any bits are valid ones, those that are there.
        Ok(unsafe { Operand::from_raw(first, layout.as_ref(), dtype, device, false, true) })
    }
}
