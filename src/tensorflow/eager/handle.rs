//! [`Handle`]: a `TFE_TensorHandle`, apart from the runtime that it is used in.

use super::super::dtype::DataType;
use super::super::error::TensorFlowError;
use super::super::functions::TFE_TensorHandle;
use super::super::library::TensorFlow;
use super::super::status::Status;
use super::super::tensor::TfTensor;
use std::ffi::CStr;
use std::ptr::NonNull;
#[cfg(feature = "python")]
use std::{ffi::c_void, mem::ManuallyDrop};

/// A handle to an eager tensor, which is deleted with this.
pub(crate) struct Handle {
    handle: NonNull<TFE_TensorHandle>,
    tensorflow: TensorFlow,
}

// SAFETY: TensorFlow's handles may be used on any thread, and are counted atomically.
unsafe impl Send for Handle {}
// SAFETY: handles are immutable, and TensorFlow locks what it computes lazily.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle belongs to this, and is deleted once.
        unsafe { (self.tensorflow.functions().TFE_DeleteTensorHandle)(self.as_ptr()) }
    }
}

impl Handle {
    /// Creates a handle that shares the memory of a [`TfTensor`].
    ///
    /// # Errors
    ///
    /// When TensorFlow can't make one of it.
    pub(crate) fn from_tf_tensor(tensor: &TfTensor) -> Result<Self, TensorFlowError> {
        let tensorflow = tensor.tensorflow();
        let mut status = Status::new(tensorflow);
        // SAFETY: tensor and status live; the handle has a reference of its own to the buffer.
        let handle = unsafe {
            (tensorflow.functions().TFE_NewTensorHandle)(tensor.as_ptr(), status.as_ptr())
        };
        status.check("TFE_NewTensorHandle")?;
        // SAFETY: the handle was just made, and belongs to nothing else.
        unsafe { Self::from_raw(tensorflow, handle, "TFE_NewTensorHandle") }
    }

    /// Takes over a handle, which a function returned.
    ///
    /// # Safety
    ///
    /// It is NULL, or a valid handle that no other code deletes.
    pub(super) unsafe fn from_raw(
        tensorflow: TensorFlow,
        handle: *mut TFE_TensorHandle,
        function: &'static str,
    ) -> Result<Self, TensorFlowError> {
        match NonNull::new(handle) {
            Some(handle) => Ok(Self { handle, tensorflow }),
            None => Err(TensorFlowError::Status {
                function,
                code: "INTERNAL",
                message: "no handle was returned".to_owned(),
            }),
        }
    }

    /// Returns a handle that other code deletes; `None` for NULL.
    ///
    /// # Safety
    ///
    /// It is NULL, or a valid handle for as long as the result is used.
    #[cfg(feature = "python")]
    pub(crate) unsafe fn borrowed(
        tensorflow: TensorFlow,
        handle: *mut c_void,
    ) -> Option<ManuallyDrop<Self>> {
        let handle = NonNull::new(handle.cast())?;
        Some(ManuallyDrop::new(Self { handle, tensorflow }))
    }

    /// Gives the handle up: what takes its address deletes it.
    #[cfg(feature = "python")]
    pub(crate) fn into_raw(self) -> *mut c_void {
        ManuallyDrop::new(self).as_ptr().cast()
    }

    pub(super) fn as_ptr(&self) -> *mut TFE_TensorHandle {
        self.handle.as_ptr()
    }

    /// Returns the element type.
    pub(crate) fn data_type(&self) -> DataType {
        let functions = self.tensorflow.functions();
        // SAFETY: the handle lives as long as `self`.
        DataType::from_code(unsafe { (functions.TFE_TensorHandleDataType)(self.as_ptr()) })
    }

    /// Returns the name of the device of the memory.
    ///
    /// # Errors
    ///
    /// When the op that computes the tensor failed.
    pub(crate) fn device_name(&self) -> Result<String, TensorFlowError> {
        let mut status = Status::new(self.tensorflow);
        // SAFETY: handle and status live.
        let name = unsafe {
            let function = self
                .tensorflow
                .functions()
                .TFE_TensorHandleBackingDeviceName;
            function(self.as_ptr(), status.as_ptr())
        };
        status.check("TFE_TensorHandleBackingDeviceName")?;
        // SAFETY: without an error it is a string of C, which lives as long as the handle.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns the tensor: in the same memory if that is the CPU's, otherwise in a copy on the
    /// host.
    ///
    /// # Errors
    ///
    /// When the op that computes the tensor failed, or the copy does.
    pub(crate) fn to_tf_tensor(&self) -> Result<TfTensor, TensorFlowError> {
        let mut status = Status::new(self.tensorflow);
        // SAFETY: handle and status live; the result belongs to us.
        let tensor = unsafe {
            (self.tensorflow.functions().TFE_TensorHandleResolve)(self.as_ptr(), status.as_ptr())
        };
        status.check("TFE_TensorHandleResolve")?;
        let tensor = NonNull::new(tensor).expect("without an error there is a tensor");
        // SAFETY: the tensor was just made, and belongs to nothing else.
        Ok(unsafe { TfTensor::from_raw(self.tensorflow, tensor, false) })
    }
}
