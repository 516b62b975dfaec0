//! Eager tensors through TensorFlow's own functions for DLPack, which take the legacy struct only.

use super::super::error::TensorFlowError;
use super::super::status::Status;
use super::super::tensor::check::check;
use super::context::Context;
use super::tensor::EagerTensor;
use crate::dlpack::{Legacy, Managed};
use crate::tensor::Tensor;
use std::ptr::NonNull;

impl EagerTensor {
    /// Creates an eager tensor by `TFE_HandleFromDLPack`, which shares the memory.
    ///
    /// [`from_tensor`](Self::from_tensor) takes more element types, and needs no functions that
    /// releases for C lack.
    ///
    /// # Errors
    ///
    /// The same as for [`from_tensor`](Self::from_tensor): in particular, misaligned memory is
    /// refused, with which the next op would abort the process. Where the functions are missing.
    /// Where TensorFlow's DLPack lacks the element type, as it does 8-bit floats.
    pub fn from_tensor_by_dlpack(
        context: &Context,
        tensor: &Tensor,
    ) -> Result<Self, TensorFlowError> {
        let tensorflow = context.tensorflow();
        let dlpack = tensorflow.dlpack()?;
        check(tensorflow, tensor)?;
        // SAFETY: TensorFlow doesn't write to memory that it doesn't own.
        let managed = unsafe { tensor.clone().into_dlpack_unmarked::<Legacy>() }?.into_raw();
        let mut status = Status::new(tensorflow);
        // SAFETY: the managed tensor is valid; it belongs to TensorFlow if there is no error.
        let handle = unsafe {
            (dlpack.to_handle)(managed.as_ptr().cast(), status.as_ptr(), context.as_ptr())
        };
        if let Err(error) = status.check("TFE_HandleFromDLPack") {
            // SAFETY: the device is the CPU, which TensorFlow knows; then it calls the deleter of
            // nothing that it refuses.
            drop(unsafe { Managed::<Legacy>::from_raw_unchecked(managed) });
            return Err(error);
        }
        // SAFETY: the handle was just made, and belongs to nothing else.
        unsafe { Self::from_raw(context, handle, "TFE_HandleFromDLPack") }
    }

    /// Returns a tensor that shares the memory, by `TFE_HandleToDLPack`: on any device, and
    /// read-only.
    ///
    /// # Errors
    ///
    /// When the elements aren't numbers: of strings, that function aborts the process. Where it is
    /// missing, or lacks the element type.
    pub fn to_tensor_by_dlpack(&self) -> Result<Tensor, TensorFlowError> {
        let tensorflow = self.context().tensorflow();
        let dlpack = tensorflow.dlpack()?;
        self.data_type().dtype()?;
        let mut status = Status::new(tensorflow);
        // SAFETY: handle and status live.
        let managed = unsafe { (dlpack.from_handle)(self.as_ptr(), status.as_ptr()) };
        status.check("TFE_HandleToDLPack")?;
        let managed = NonNull::new(managed).expect("without an error there is a managed tensor");
        // SAFETY: TensorFlow's function returns a valid managed tensor of the legacy ABI, which
        // belongs to us.
        let managed = unsafe { Managed::<Legacy>::from_raw_unchecked(managed.cast()) };
        Ok(Tensor::from_dlpack(managed)?.into_read_only())
    }
}
