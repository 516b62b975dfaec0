//! Import of other libraries' tensors on a GPU into stream order.

use crate::cuda::driver::error::CudaError;
use crate::cuda::memory::Memory;
use crate::cuda::memory::order::is_ordered;
use crate::cuda::stream::Stream;
use crate::device::DeviceKind;
use crate::tensor::Tensor;

/// Has a tensor that came from somebody else be used in the right order, and released in the right order:
/// `home` is the stream on which whoever made it works, and reuses its memory; `ready_on` is where it is
/// ready, which may be the same.
///
/// # Errors
///
/// Fails if it is on no GPU, or on another one than the streams'.
pub fn import(tensor: Tensor, home: &Stream, ready_on: &Stream) -> Result<Tensor, CudaError> {
    for stream in [home, ready_on] {
        check(&tensor, stream)?;
    }
    Ok(keep_order(tensor, Some(home.clone()), ready_on))
}

/// [`import`], of somebody whose stream isn't known: what keeps the tensor does so until the work is done that
/// uses it.
///
/// # Errors
///
/// See [`import`].
pub fn import_unordered(tensor: Tensor, ready_on: &Stream) -> Result<Tensor, CudaError> {
    check(&tensor, ready_on)?;
    Ok(keep_order(tensor, None, ready_on))
}

fn check(tensor: &Tensor, stream: &Stream) -> Result<(), CudaError> {
    let device = tensor.device();
    if device.kind() != DeviceKind::Cuda {
        return Err(CudaError::NotCuda { device });
    }
    if stream.gpu().device() != device {
        return Err(CudaError::WrongStream {
            found: stream.gpu().id(),
            wanted: device,
        });
    }
    Ok(())
}

fn keep_order(tensor: Tensor, home: Option<Stream>, ready_on: &Stream) -> Tensor {
    if is_ordered(&tensor) {
        return tensor;
    }
    tensor.rekept(|storage| Memory::foreign(storage, home, ready_on.clone()))
}
