//! [`Tensor`]: a tensor of TensorFlow's in a call.

use super::functions::{Handle, TensorFlow};
use crate::hosts::operands::{Described, describe_in_place};
use crate::hosts::repeats::Description;
use crate::tensorflow_types::{dtype_of, name_of};
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr;

/// A tensor, which is released when it is dropped.
pub(super) struct Tensor {
    pub(super) tensorflow: &'static TensorFlow,
    pub(super) handle: Handle,
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: the handle is this one's alone, and not used any more.
        unsafe { (self.tensorflow.functions.TF_DeleteTensor)(self.handle) };
    }
}

impl Tensor {
    /// Returns the sizes.
    pub(super) fn sizes(&self) -> SmallVec<[i64; 8]> {
        let functions = &self.tensorflow.functions;
        // SAFETY: the handle is a tensor's, which has a size for each dimension.
        unsafe {
            let rank = (functions.TF_NumDims)(self.handle);
            (0..rank)
                .map(|at| (functions.TF_Dim)(self.handle, at))
                .collect()
        }
    }

    /// Returns the dtype's code.
    pub(super) fn code(&self) -> c_int {
        // SAFETY: the handle is a tensor's.
        unsafe { (self.tensorflow.functions.TF_TensorType)(self.handle) }
    }

    /// Appends what tells the tensor, which has this code, apart from others.
    #[inline]
    pub(super) fn tell_apart(&self, code: u32, call: &mut Description) {
        let functions = &self.tensorflow.functions;
        // SAFETY: the handle is a tensor's, which has a size for each dimension.
        unsafe {
            let first = (functions.TF_TensorData)(self.handle);
            let rank = (functions.TF_NumDims)(self.handle);
            call.begin_tensor(first.cast(), code, rank as u32);
            for at in 0..rank {
                call.add_number((functions.TF_Dim)(self.handle, at) as u64);
            }
        }
    }

    /// Appends memory, layout and dtype. TensorFlow's tensors are contiguous, and each of their
    /// elements takes a byte or more of its own.
    pub(super) fn describe(&self, list: &mut SmallVec<[Described; 4]>) -> Result<(), String> {
        let functions = &self.tensorflow.functions;
        let code = self.code();
        let missing = || {
            let name = name_of(code).unwrap_or("another dtype");
            format!("there is no dtype for TensorFlow's {name}")
        };
        let dtype = dtype_of(code).ok_or_else(missing)?;
        let sizes = self.sizes();
        // SAFETY: the handle is a tensor's.
        let first = unsafe { (functions.TF_TensorData)(self.handle) };
        let dims = (sizes.len() as i32, sizes.as_ptr(), ptr::null());
        // SAFETY: there are as many sizes; without strides it is row-major.
        let valid = unsafe { describe_in_place(list, first.cast(), dtype, dims) };
        valid.map_err(|error| error.to_string())?;
        if let Some(described) = list.last_mut() {
            described.is_padded = dtype.is_sub_byte();
        }
        Ok(())
    }

    /// Copies the elements of another tensor of this dtype and shape.
    pub(super) fn copy_from(&self, other: &Self) {
        let functions = &self.tensorflow.functions;
        // SAFETY: both are tensors of as many bytes, of which this one is new.
        unsafe {
            let nbytes = (functions.TF_TensorByteSize)(other.handle);
            if nbytes > 0 && nbytes == (functions.TF_TensorByteSize)(self.handle) {
                let from = (functions.TF_TensorData)(other.handle).cast::<u8>();
                let to = (functions.TF_TensorData)(self.handle).cast::<u8>();
                from.copy_to_nonoverlapping(to, nbytes);
            }
        }
    }
}
