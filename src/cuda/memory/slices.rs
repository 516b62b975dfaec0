//! The crate `cudarc`: its slices as tensors, and tensors as its slices.
//!
//! A tensor takes a slice over, and frees it as cudarc would, on the slice's stream, after all work
//! that uses it. The other way [`Slice`] lends a tensor's memory to cudarc. Both are ordered on
//! cudarc's stream, so no code needs to wait for a GPU in between.

use super::foreign::import;
use super::tensor_uses::use_on;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::stream::Stream;
use crate::cuda::stream::last_writer::Use;
use crate::device::DeviceKind;
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::storage::{Access, Owner, Storage};
use crate::tensor::{TakeError, Tensor};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaViewMut, DevicePtrMut, DriverError};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

/// The tensor has one dimension, and takes the slice over.
impl<T: Element> TryFrom<CudaSlice<T>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When the slice isn't in its GPU's primary context, or the driver fails.
    fn try_from(mut slice: CudaSlice<T>) -> Result<Self, Error> {
        let theirs = Arc::clone(slice.stream());
        let stream = stream_of(&theirs)?;
        // The slice's own stream waits for what is done with the slice on others.
        let (first, _) = slice.device_ptr_mut(&theirs);
        theirs.context().check_err().map_err(failed)?;
        let (len, bytes) = (slice.len(), slice.num_bytes());
        let (owner, ()) = Owner::lend(slice, |_| ());
        let data = ptr::with_exposed_provenance_mut(first as usize);
        let device = stream.gpu().device();
        // SAFETY: the owner is the slice, which has as many bytes on this GPU until it is dropped,
        // and nothing else uses them: it was given by value.
        let storage = unsafe { Storage::from_parts(data, bytes, device, Access::Exclusive, owner) };
        let tensor = Tensor::from_storage(storage, &[len], T::DTYPE)?;
        import(tensor, &stream, &stream).map_err(other)
    }
}

/// A tensor's memory as a slice of cudarc's, which doesn't free it.
///
/// It derefs to the slice, which can be read; [`as_view_mut`](Self::as_view_mut) lends it to be
/// written.
///
/// # Examples
///
/// ```
/// use cudarc::driver::CudaContext;
/// use dlbridge::cuda::{self, Slice};
/// use dlbridge::Tensor;
///
/// fn there_and_back() -> Result<(), Box<dyn std::error::Error>> {
///     let stream = CudaContext::new(0)?.new_stream()?;
///     let tensor = Tensor::try_from(stream.clone_htod(&[1.0_f32, 2.0])?)?; // the slice's memory
///     let slice = Slice::<f32>::new(tensor.reshape(&[2, 1])?, &stream)?; // the same, lent
///     assert_eq!(stream.clone_dtoh(&*slice)?, [1.0, 2.0]);
///     Ok(())
/// }
///
/// if cuda::is_present() {
///     there_and_back()?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Slice<T> {
    /// Leaked when this is dropped: the tensor has the memory.
    slice: ManuallyDrop<CudaSlice<T>>,
    tensor: Tensor,
    stream: Stream,
}

impl<T: Element> Slice<T> {
    /// Lends a tensor to cudarc, ordered on a stream of cudarc's: that waits for what is done with
    /// the tensor on others, and what uses the tensor later waits for it.
    ///
    /// # Errors
    ///
    /// When the tensor isn't on the stream's GPU, its elements aren't `T`s, or don't lie one after
    /// another, or the driver fails. The error has the tensor.
    pub fn new(tensor: Tensor, stream: &Arc<CudaStream>) -> Result<Self, TakeError> {
        let (slice, stream) = match Self::ordered(&tensor, stream) {
            Ok(lent) => lent,
            Err(error) => return Err((tensor, error).into()),
        };
        let mut lent = Self {
            slice,
            tensor,
            stream,
        };
        match mark_ready(&mut lent.slice) {
            Ok(()) => Ok(lent),
            Err(error) => Err((lent.into_tensor(), error).into()),
        }
    }

    fn ordered(
        tensor: &Tensor,
        theirs: &Arc<CudaStream>,
    ) -> Result<(ManuallyDrop<CudaSlice<T>>, Stream), Error> {
        let (found, wanted) = (tensor.dtype(), T::DTYPE);
        if found != wanted {
            return Err(Error::DTypeMismatch { found, wanted });
        }
        if !tensor.layout().is_contiguous() {
            let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            return Err(Error::NotContiguous { shape, strides });
        }
        let stream = stream_of(theirs)?;
        let (device, gpu) = (tensor.device(), stream.gpu());
        if device != gpu.device() {
            let found = gpu.id();
            return Err(other(match device.kind() {
                DeviceKind::Cuda => CudaError::WrongStream {
                    found,
                    wanted: device,
                },
                _ => CudaError::NotCuda { device },
            }));
        }
        use_on(tensor, &stream, Use::Read).map_err(other)?;
        // What the slice's events need, whose failure would be a panic.
        theirs.context().bind_to_thread().map_err(failed)?;
        let first = tensor.data_ptr().expose_provenance() as u64;
        // SAFETY: the tensor has as many elements on this GPU, and is kept with the slice, which
        // frees nothing: it is leaked.
        let slice = unsafe { theirs.upgrade_device_ptr(first, tensor.len()) };
        Ok((ManuallyDrop::new(slice), stream))
    }

    /// Ends the loan, and returns the tensor. What uses it later waits for cudarc's work, on
    /// whichever of its streams that is.
    ///
    /// Before, the tensor can't be reached: cudarc may be writing on a stream that it alone knows.
    pub fn into_tensor(self) -> Tensor {
        self.tensor.clone()
    }

    /// Lends the memory to be written.
    ///
    /// # Errors
    ///
    /// When the tensor is read-only, or has other handles, or the driver fails.
    pub fn as_view_mut(&mut self) -> Result<CudaViewMut<'_, T>, Error> {
        self.tensor.check_exclusive()?;
        use_on(&self.tensor, &self.stream, Use::Write).map_err(other)?;
        mark_ready(&mut self.slice)?;
        Ok(self.slice.as_view_mut())
    }
}

/// On the default stream of the tensor's GPU.
impl<T: Element> TryFrom<Tensor> for Slice<T> {
    type Error = TakeError;

    /// # Errors
    ///
    /// As for [`new`](Slice::new).
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let gpu = Gpu::from_device(tensor.device()).map_err(other);
        let context = gpu.and_then(|gpu| CudaContext::new(gpu.id() as usize).map_err(failed));
        match context {
            Ok(context) => Self::new(tensor, &context.default_stream()),
            Err(error) => Err((tensor, error).into()),
        }
    }
}

impl<T> Deref for Slice<T> {
    type Target = CudaSlice<T>;

    fn deref(&self) -> &CudaSlice<T> {
        &self.slice
    }
}

impl<T> Drop for Slice<T> {
    fn drop(&mut self) {
        // SAFETY: it is taken once, and not used any more.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        // Its stream waits for cudarc's other ones, and the tensor's users wait for that stream.
        slice.leak();
    }
}

impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice")
            .field("len", &self.slice.len())
            .finish_non_exhaustive()
    }
}

/// Marks on a slice's stream, which has waited for ours, that the slice is ready, so that cudarc's
/// other streams wait for that.
fn mark_ready<T>(slice: &mut CudaSlice<T>) -> Result<(), Error> {
    let theirs = Arc::clone(slice.stream());
    // The guard's drop records the event of the last write.
    drop(slice.device_ptr_mut(&theirs));
    theirs.context().check_err().map_err(failed)
}

/// Returns a stream of cudarc's as one of ours, which keeps it.
fn stream_of(theirs: &Arc<CudaStream>) -> Result<Stream, Error> {
    let context = theirs.context();
    let id = i32::try_from(context.ordinal()).unwrap_or(i32::MAX);
    let gpu = Gpu::new(id).map_err(other)?;
    if !gpu.has_context(context.cu_ctx()) {
        let found = format!("another context of cuda:{id}");
        let error = Incompatibility::new(IncompatibilityKind::Device, found, "the primary context");
        return Err(error.with_remedy("make it with CudaContext::new").into());
    }
    // SAFETY: a stream of this GPU, which is kept.
    Ok(unsafe { Stream::from_raw(gpu, theirs.cu_stream().cast()).kept(Arc::clone(theirs)) })
}

#[cold]
fn other(error: CudaError) -> Error {
    error.incompatibility().into()
}

/// Returns the error of a call of the driver that cudarc made.
#[cold]
fn failed(error: DriverError) -> Error {
    let reason = format!("cudarc's call of the CUDA driver failed: {error}");
    Incompatibility::from_reason(IncompatibilityKind::Device, reason).into()
}
