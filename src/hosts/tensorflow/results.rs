//! Outputs of a call, in TensorFlow's memory.

use super::functions::{Handle, Status, TensorFlow};
use super::tensor::Tensor;
use crate::dtype::DType;
use crate::hosts::allocated::Allocator;
use crate::hosts::problem::no_dtype;
use crate::kernel::Failure;
use crate::layout::LayoutRef;
use crate::tensorflow_types::code_of;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr;

/// The outputs of a call, which it keeps.
pub(super) struct Results<'s> {
    status: &'s Status,
    tensorflow: &'static TensorFlow,
    context: Handle,
    /// The place of the next one.
    next: c_int,
    made: SmallVec<[Tensor; 1]>,
}

impl<'s> Results<'s> {
    /// Returns the outputs from a place on.
    pub(super) fn new(
        status: &'s Status,
        tensorflow: &'static TensorFlow,
        context: Handle,
        next: c_int,
    ) -> Self {
        Self {
            status,
            tensorflow,
            context,
            next,
            made: SmallVec::new(),
        }
    }

    /// Keeps the next output, of which `nbytes` are to be written, and returns its memory.
    ///
    /// # Safety
    ///
    /// The handle is what the last function gave: a tensor's, or NULL.
    #[inline]
    unsafe fn keep(&mut self, handle: Handle, nbytes: usize) -> Result<*mut u8, Failure> {
        let handle = self.status.given(handle)?;
        self.next += 1;
        self.made.push(Tensor {
            tensorflow: self.tensorflow,
            handle,
        });
        let functions = &self.tensorflow.functions;
        // SAFETY: the handle is a tensor's.
        let (first, given) = unsafe {
            let first = (functions.TF_TensorData)(handle).cast::<u8>();
            (first, (functions.TF_TensorByteSize)(handle))
        };
        if given < nbytes {
            return Err("TensorFlow allocated another tensor".into());
        }
        Ok(first)
    }
}

/// Returns sizes as TensorFlow takes them.
#[inline]
fn sizes_of(layout: LayoutRef<'_>) -> SmallVec<[i64; 8]> {
    let mut sizes = SmallVec::new();
    for size in layout.shape() {
        sizes.push(*size as i64);
    }
    sizes
}

// SAFETY: the tensors are new, or inputs that nothing else uses, and kept.
unsafe impl Allocator for Results<'_> {
    #[inline]
    fn allocate(&mut self, layout: LayoutRef<'_>, dtype: DType) -> Result<*mut u8, Failure> {
        let code = code_of(dtype).filter(|_| dtype.item_bytes().is_some());
        let code = code.ok_or_else(|| no_dtype("TensorFlow", dtype))?;
        let nbytes = layout.len() * dtype.item_bytes().unwrap_or(1);
        let sizes = sizes_of(layout);
        // SAFETY: the context is that of a call, and there are as many sizes as dimensions.
        unsafe {
            let handle = (self.tensorflow.functions.TF_AllocateOutput)(
                self.context,
                self.next,
                code,
                sizes.as_ptr(),
                sizes.len() as c_int,
                nbytes,
                self.status.handle,
            );
            self.keep(handle, nbytes)
        }
    }

    /// No tensor of the inputs is held, as TensorFlow gives none away that is.
    #[inline]
    fn allocate_or_replace(
        &mut self,
        inputs: u32,
        layout: LayoutRef<'_>,
        dtype: DType,
    ) -> Result<*mut u8, Failure> {
        let nbytes = layout.len() * dtype.item_bytes().unwrap_or(1);
        let sizes = sizes_of(layout);
        let mut places = [0; u32::BITS as usize];
        let (mut count, mut rest) = (0, inputs);
        while rest != 0 {
            places[count] = rest.trailing_zeros() as c_int;
            count += 1;
            rest &= rest - 1;
        }
        // SAFETY: the context is that of a call, which has these inputs, and there are as many
        // sizes as dimensions. TensorFlow knows the output's dtype, and that nothing is to be told
        // of which input it took.
        unsafe {
            let handle = (self.tensorflow.functions.TF_ForwardInputOrAllocateOutput)(
                self.context,
                places.as_ptr(),
                count as c_int,
                self.next,
                sizes.as_ptr(),
                sizes.len() as c_int,
                ptr::null_mut(),
                self.status.handle,
            );
            self.keep(handle, nbytes)
        }
    }
}
