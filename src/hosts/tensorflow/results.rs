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
}

// SAFETY: the tensors are new, and kept.
unsafe impl Allocator for Results<'_> {
    #[inline]
    fn allocate(&mut self, layout: LayoutRef<'_>, dtype: DType) -> Result<*mut u8, Failure> {
        let code = code_of(dtype).filter(|_| dtype.item_bytes().is_some());
        let code = code.ok_or_else(|| no_dtype("TensorFlow", dtype))?;
        let nbytes = layout.len() * dtype.item_bytes().unwrap_or(1);
        let sizes: SmallVec<[i64; 8]> = layout.shape().iter().map(|size| *size as i64).collect();
        let functions = &self.tensorflow.functions;
        // SAFETY: the context is that of a call, and there are as many sizes as dimensions.
        let handle = unsafe {
            (functions.TF_AllocateOutput)(
                self.context,
                self.next,
                code,
                sizes.as_ptr(),
                sizes.len() as c_int,
                nbytes,
                self.status.handle,
            )
        };
        let handle = self.status.given(handle)?;
        self.next += 1;
        self.made.push(Tensor {
            tensorflow: self.tensorflow,
            handle,
        });
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
