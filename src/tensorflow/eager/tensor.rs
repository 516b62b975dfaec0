//! [`EagerTensor`]: a handle of an eager runtime, from and to a [`Tensor`].

use super::super::dtype::DataType;
use super::super::error::TensorFlowError;
use super::super::functions::TFE_TensorHandle;
use super::super::tensor::TfTensor;
use super::context::Context;
use super::handle::Handle;
use crate::tensor::Tensor;
use std::fmt;

/// A tensor of an eager runtime, what Python calls `tf.Tensor`.
///
/// It keeps its [`Context`].
pub struct EagerTensor {
    // Deleted before the context.
    handle: Handle,
    context: Context,
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
        let (handle, context) = (Handle::from_tf_tensor(tensor)?, context.clone());
        Ok(Self { handle, context })
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
        // SAFETY: the handle is NULL or valid and nothing else's, a precondition of this function.
        let handle = unsafe { Handle::from_raw(context.tensorflow(), handle, function) }?;
        Ok(Self { handle, context })
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
        self.handle.data_type()
    }

    /// Returns the name of the device of the memory, such as
    /// `/job:localhost/replica:0/task:0/device:CPU:0`.
    ///
    /// # Errors
    ///
    /// When the op that computes the tensor failed.
    pub fn device_name(&self) -> Result<String, TensorFlowError> {
        self.handle.device_name()
    }

    /// Returns the tensor as one of the C library: in the same memory if that is the CPU's,
    /// otherwise in a copy on the host.
    ///
    /// # Errors
    ///
    /// When the op that computes the tensor failed, or the copy does.
    pub fn to_tf_tensor(&self) -> Result<TfTensor, TensorFlowError> {
        self.handle.to_tf_tensor()
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
