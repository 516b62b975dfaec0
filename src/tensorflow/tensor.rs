//! [`TfTensor`]: a `TF_Tensor`, from and to a [`Tensor`] without copying.

pub(super) mod check;
mod import;

use super::dtype::DataType;
use super::error::TensorFlowError;
use super::functions::TF_Tensor;
use super::library::TensorFlow;
use crate::device::Device;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::layout::MAX_RANK;
use crate::tensor::Tensor;
use check::check;
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

pub use check::ALIGNMENT;

/// A handle to a tensor of TensorFlow's C library. Cloning it is cheap, and gives another handle to
/// the same.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::tensorflow::{TensorFlow, TensorFlowError, TfTensor};
///
/// fn share(tensorflow: TensorFlow) -> Result<(), TensorFlowError> {
///     let ours = Tensor::from_slice(&[1.0_f32, 2.0, 3.0], &[3])?;
///     let theirs = TfTensor::from_tensor(tensorflow, &ours)?;
///     assert_eq!(theirs.data_ptr(), ours.data_ptr());
///     assert_eq!(theirs.to_tensor()?.data_ptr(), ours.data_ptr());
///     Ok(())
/// }
/// # if let Ok(tensorflow) = TensorFlow::load() { share(tensorflow)? }
/// # Ok::<(), TensorFlowError>(())
/// ```
#[derive(Clone)]
pub struct TfTensor {
    inner: Arc<Inner>,
}

struct Inner {
    tensor: NonNull<TF_Tensor>,
    tensorflow: TensorFlow,
    copied: bool,
}

// SAFETY: only functions that read the tensor are called with it, which TensorFlow allows on any
// thread, as it allows deletion; references to its buffer are counted atomically.
unsafe impl Send for Inner {}
// SAFETY: shared references call functions that only read.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the tensor belongs to this, and is deleted once.
        unsafe { (self.tensorflow.functions().TF_DeleteTensor)(self.tensor.as_ptr()) }
    }
}

/// Drops the handle that [`TfTensor::from_tensor`] gave up.
unsafe extern "C" fn release(_data: *mut c_void, _nbytes: usize, tensor: *mut c_void) {
    // SAFETY: TensorFlow passes on what it was given, a handle, and calls this once.
    drop(unsafe { Tensor::from_raw(NonNull::new_unchecked(tensor)) });
}

impl TfTensor {
    /// Creates a tensor of TensorFlow that shares the memory, which TensorFlow's deallocator
    /// releases.
    ///
    /// TensorFlow doesn't write to this memory, so it may be read-only.
    ///
    /// # Errors
    ///
    /// When TensorFlow would copy the memory, as it isn't [aligned](ALIGNMENT), or can't take it:
    /// elements that aren't row-major, packed elements of less than a byte, another device, an
    /// element type that this version lacks.
    pub fn from_tensor(tensorflow: TensorFlow, tensor: &Tensor) -> Result<Self, TensorFlowError> {
        let data_type = check(tensorflow, tensor)?;
        Self::share(tensorflow, tensor, data_type, false)
    }

    /// Creates a tensor like [`from_tensor`](Self::from_tensor), of a copy where the memory can't
    /// be shared. [`is_copied`](Self::is_copied) says which.
    ///
    /// # Errors
    ///
    /// When TensorFlow can't take a copy either: an element type that it lacks, packed elements of
    /// less than a byte, memory that the CPU can't read.
    pub fn from_tensor_or_copy(
        tensorflow: TensorFlow,
        tensor: &Tensor,
    ) -> Result<Self, TensorFlowError> {
        match check(tensorflow, tensor) {
            Ok(data_type) => Self::share(tensorflow, tensor, data_type, false),
            Err(error) if error.copy_to == Some(Device::CPU) => {
                let copy = tensor.copy()?;
                let data_type = check(tensorflow, &copy)?;
                Self::share(tensorflow, &copy, data_type, true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn share(
        tensorflow: TensorFlow,
        tensor: &Tensor,
        data_type: DataType,
        copied: bool,
    ) -> Result<Self, TensorFlowError> {
        let mut sizes = [0_i64; MAX_RANK];
        for (size, ours) in sizes.iter_mut().zip(tensor.shape()) {
            // No size is more than `isize::MAX`, an invariant of layouts.
            *size = *ours as i64;
        }
        let functions = tensorflow.functions();
        let data = tensor.data_ptr().cast_mut();
        // SAFETY: data leads to `nbytes` bytes of row-major elements of this type, which `check`
        // found, and lives as long as the handle that is passed on; `release` drops it.
        let made = unsafe {
            (functions.TF_NewTensor)(
                data_type.code(),
                sizes.as_ptr(),
                tensor.rank() as i32,
                data.cast(),
                tensor.nbytes(),
                release,
                tensor.clone().into_raw().as_ptr(),
            )
        };
        // TensorFlow has called the deallocator if it made nothing.
        let Some(made) = NonNull::new(made) else {
            let reason = format!(
                "TensorFlow refuses {data_type} of shape {:?}",
                tensor.shape()
            );
            return Err(Incompatibility::from_reason(IncompatibilityKind::Exchange, reason).into());
        };
        // SAFETY: the tensor was just made, and belongs to nothing else.
        let made = unsafe { Self::from_raw(tensorflow, made, copied) };
        if !tensor.is_empty() && made.data_ptr() != data.cast_const() {
            return Err(check::misaligned(data.addr()).into());
        }
        Ok(made)
    }

    /// Takes over a `TF_Tensor`.
    ///
    /// # Safety
    ///
    /// The tensor is valid, and no other code deletes it.
    pub(super) unsafe fn from_raw(
        tensorflow: TensorFlow,
        tensor: NonNull<TF_Tensor>,
        copied: bool,
    ) -> Self {
        let inner = Arc::new(Inner {
            tensor,
            tensorflow,
            copied,
        });
        Self { inner }
    }

    pub(super) fn as_ptr(&self) -> *mut TF_Tensor {
        self.inner.tensor.as_ptr()
    }

    /// Returns the address of the `TF_Tensor`, for functions of C that this module doesn't have. It
    /// is valid as long as a handle is.
    pub fn as_raw(&self) -> *mut c_void {
        self.as_ptr().cast()
    }

    /// Returns the TensorFlow that it belongs to.
    pub fn tensorflow(&self) -> TensorFlow {
        self.inner.tensorflow
    }

    /// Returns whether the memory was copied for TensorFlow, by
    /// [`from_tensor_or_copy`](Self::from_tensor_or_copy).
    pub fn is_copied(&self) -> bool {
        self.inner.copied
    }

    /// Returns the element type.
    pub fn data_type(&self) -> DataType {
        // SAFETY: the tensor lives as long as `self`.
        DataType::from_code(unsafe { (self.tensorflow().functions().TF_TensorType)(self.as_ptr()) })
    }

    /// Returns the shape.
    pub fn shape(&self) -> Vec<usize> {
        let functions = self.tensorflow().functions();
        // SAFETY: the tensor lives as long as `self`, and has as many sizes as it says.
        let sizes = unsafe {
            let rank = (functions.TF_NumDims)(self.as_ptr());
            (0..rank).map(|axis| (functions.TF_Dim)(self.as_ptr(), axis))
        };
        sizes.map(|size| size as usize).collect()
    }

    /// Returns the address of the first element. It may be NULL if there are none.
    pub fn data_ptr(&self) -> *const u8 {
        // SAFETY: the tensor lives as long as `self`.
        let data = unsafe { (self.tensorflow().functions().TF_TensorData)(self.as_ptr()) };
        data.cast_const().cast()
    }

    /// Returns the number of bytes of the elements.
    pub fn nbytes(&self) -> usize {
        // SAFETY: the tensor lives as long as `self`.
        unsafe { (self.tensorflow().functions().TF_TensorByteSize)(self.as_ptr()) }
    }
}

impl fmt::Debug for TfTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TfTensor")
            .field("data_type", &self.data_type())
            .field("shape", &self.shape())
            .field("data_ptr", &self.data_ptr())
            .field("is_copied", &self.is_copied())
            .finish()
    }
}
