//! Uninitialised and zeroed tensors in device memory.

use crate::cuda::driver::answer::call;
use crate::cuda::driver::error::CudaError;
use crate::cuda::memory;
use crate::cuda::stream::Stream;
use crate::dtype::DType;
use crate::error::{Error, LayoutError};
use crate::layout::Layout;
use crate::tensor::Tensor;

/// Returns a tensor on a stream's GPU that was not written yet: row-major, and ready on that
/// stream.
///
/// # Errors
///
/// Fails if there is not enough memory, the shape can't be a tensor's, or the stream is being
/// captured.
pub fn empty(shape: &[usize], dtype: DType, stream: &Stream) -> Result<Tensor, CudaError> {
    let storage = memory::allocate(bytes_of(shape, dtype)?, stream)?;
    Ok(Tensor::from_storage(storage, shape, dtype)?)
}

/// Returns zeros on a stream's GPU: row-major, and ready on that stream.
///
/// # Errors
///
/// See [`empty`]; and when the element type has no zero.
pub fn zeros(shape: &[usize], dtype: DType, stream: &Stream) -> Result<Tensor, CudaError> {
    Tensor::check_zeros(shape, dtype)?;
    let tensor = empty(shape, dtype, stream)?;
    let bytes = tensor.storage().nbytes();
    if bytes > 0 {
        let _context = stream.gpu().enter()?;
        let address = tensor.data_ptr().addr() as u64;
        // SAFETY: memory that was just allocated in the order of this stream.
        unsafe { call!(cuMemsetD8Async(address, 0, bytes, stream.raw()?)) }?;
    }
    Ok(tensor)
}

/// Returns how many bytes the elements take, one after another.
pub(in crate::cuda) fn bytes_of(shape: &[usize], dtype: DType) -> Result<usize, CudaError> {
    let layout = Layout::contiguous(shape).map_err(Error::from)?;
    let bytes = dtype.packed_bytes(layout.len());
    let bytes = bytes.filter(|bytes| *bytes <= isize::MAX as usize);
    bytes.ok_or_else(|| Error::from(LayoutError::ExtentTooLarge { dtype }).into())
}
