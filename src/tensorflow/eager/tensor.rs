//! [`EagerTensor`]: a handle of an eager runtime, from and to a [`Tensor`].

use super::super::dtype::DataType;
use super::super::error::TensorFlowError;
use super::super::functions::TFE_TensorHandle;
use super::super::status::Status;
use super::super::tensor::TfTensor;
use super::context::Context;
use crate::tensor::Tensor;
use std::ffi::CStr;
use std::fmt;
use std::ptr::NonNull;

/// A tensor of an eager runtime, what Python calls `tf.Tensor`.
///
/// It keeps its [`Context`].
pub struct EagerTensor {
    handle: NonNull<TFE_TensorHandle>,
    context: Context,
}

// SAFETY: TensorFlow's handles may be used on any thread, and are counted atomically.
unsafe impl Send for EagerTensor {}
// SAFETY: handles are immutable, and TensorFlow locks what it computes lazily.
unsafe impl Sync for EagerTensor {}

impl Drop for EagerTensor {
    fn drop(&mut self) {
        let functions = self.context.tensorflow().functions();
        // SAFETY: the handle belongs to this, and is deleted once, before its context.
        unsafe { (functions.TFE_DeleteTensorHandle)(self.handle.as_ptr()) }
    }
}

impl EagerTensor {
    /// Creates an eager tensor that shares the memory.
    ///
    /// # Errors
    ///
    /// The same as for [`TfTensor::from_tensor`].
    pub fn from_tensor(context: &Context, tensor: &Tensor) -> Result<Self, TensorFlowError> {
        let shared = TfTensor::from_tensor(context.tensorflow(), tensor)?;
        Self::from_tf_tensor(context, &shared)
    }

    /// Creates an eager tensor that shares the memory of a [`TfTensor`].
    ///
    /// # Errors
    ///
    /// When TensorFlow can't make one of it.
    pub fn from_tf_tensor(context: &Context, tensor: &TfTensor) -> Result<Self, TensorFlowError> {
        let tensorflow = context.tensorflow();
        let mut status = Status::new(tensorflow);
        // SAFETY: tensor and status live; the handle has a reference of its own to the buffer.
        let handle = unsafe {
            (tensorflow.functions().TFE_NewTensorHandle)(tensor.as_ptr(), status.as_ptr())
        };
        status.check("TFE_NewTensorHandle")?;
        // SAFETY: the handle was just made, and belongs to nothing else.
        unsafe { Self::from_raw(context, handle, "TFE_NewTensorHandle") }
    }

    /// Takes over a handle.
    ///
    /// # Safety
    ///
    /// It is NULL, or a valid handle that no other code deletes.
    pub(super) unsafe fn from_raw(
        context: &Context,
        handle: *mut TFE_TensorHandle,
        function: &'static str,
    ) -> Result<Self, TensorFlowError> {
        let context = context.clone();
        match NonNull::new(handle) {
            Some(handle) => Ok(Self { handle, context }),
            None => Err(TensorFlowError::Status {
                function,
                code: "INTERNAL",
                message: "no handle was returned".to_owned(),
            }),
        }
    }

    pub(super) fn as_ptr(&self) -> *mut TFE_TensorHandle {
        self.handle.as_ptr()
    }

    /// Returns the context.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the element type.
    pub fn data_type(&self) -> DataType {
        let functions = self.context.tensorflow().functions();
        // SAFETY: the handle lives as long as `self`.
        DataType::from_code(unsafe { (functions.TFE_TensorHandleDataType)(self.as_ptr()) })
    }

    /// Returns the name of the device of the memory, such as
    /// `/job:localhost/replica:0/task:0/device:CPU:0`.
    ///
    /// # Errors
    ///
    /// When the op that computes the tensor failed.
    pub fn device_name(&self) -> Result<String, TensorFlowError> {
        let tensorflow = self.context.tensorflow();
        let mut status = Status::new(tensorflow);
        // SAFETY: handle and status live.
        let name = unsafe {
            let function = tensorflow.functions().TFE_TensorHandleBackingDeviceName;
            function(self.as_ptr(), status.as_ptr())
        };
        status.check("TFE_TensorHandleBackingDeviceName")?;
        // SAFETY: without an error it is a string of C, which lives as long as the handle.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns the tensor as one of the C library: in the same memory if that is the CPU's,
    /// otherwise in a copy on the host.
    ///
    /// # Errors
    ///
    /// When the op that computes the tensor failed, or the copy does.
    pub fn to_tf_tensor(&self) -> Result<TfTensor, TensorFlowError> {
        let tensorflow = self.context.tensorflow();
        let mut status = Status::new(tensorflow);
        // SAFETY: handle and status live; the result belongs to us.
        let tensor = unsafe {
            (tensorflow.functions().TFE_TensorHandleResolve)(self.as_ptr(), status.as_ptr())
        };
        status.check("TFE_TensorHandleResolve")?;
        let tensor = NonNull::new(tensor).expect("without an error there is a tensor");
        // SAFETY: the tensor was just made, and belongs to nothing else.
        Ok(unsafe { TfTensor::from_raw(tensorflow, tensor, false) })
    }

    /// Returns a tensor that shares the memory, if that is the CPU's; otherwise of a copy on the
    /// host. It is read-only.
    ///
    /// # Errors
    ///
    /// The same as for [`to_tf_tensor`](Self::to_tf_tensor), and of [`TfTensor::to_tensor`].
    pub fn to_tensor(&self) -> Result<Tensor, TensorFlowError> {
        // Before the call, so that strings are refused without a copy.
        self.data_type().dtype()?;
        self.to_tf_tensor()?.to_tensor()
    }
}

impl fmt::Debug for EagerTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EagerTensor")
            .field("data_type", &self.data_type())
            .finish_non_exhaustive()
    }
}
