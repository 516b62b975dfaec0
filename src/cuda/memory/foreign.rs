//! Tensors of others on a GPU, and in which order they are used.

use crate::cuda::driver::error::CudaError;
use crate::cuda::memory::Memory;
use crate::cuda::stream::Stream;
use crate::cuda::stream::stream_uses::Use;
use crate::device::DeviceKind;
use crate::tensor::Tensor;

/// Has a tensor that came from somebody else be used in the right order, and released in the right order:
/// `home` is the stream on which whoever made it works, and reuses its memory; `ready_on` is where it is
/// ready, which may be the same.
///
/// # Errors
///
/// When it is on no GPU, or on another one than the streams'.
pub fn adopt(tensor: Tensor, home: &Stream, ready_on: &Stream) -> Result<Tensor, CudaError> {
    for stream in [home, ready_on] {
        check(&tensor, stream)?;
    }
    Ok(adopted(tensor, Some(home.clone()), ready_on))
}

/// [`adopt`], of somebody whose stream isn't known: what keeps the tensor does so until the work is done that
/// uses it.
///
/// # Errors
///
/// As of [`adopt`].
pub fn adopt_unordered(tensor: Tensor, ready_on: &Stream) -> Result<Tensor, CudaError> {
    check(&tensor, ready_on)?;
    Ok(adopted(tensor, None, ready_on))
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

fn adopted(tensor: Tensor, home: Option<Stream>, ready_on: &Stream) -> Tensor {
    if keeper(&tensor).is_some() {
        return tensor;
    }
    tensor.rekept(|storage| Memory::foreign(storage, home, ready_on.clone()))
}

/// What keeps a tensor's memory, where that is known here.
pub(in crate::cuda) fn keeper(tensor: &Tensor) -> Option<&Memory> {
    tensor.storage().keeper::<Memory>()
}

/// Whether it is known in which order a tensor is used.
#[cfg(feature = "python")]
pub(crate) fn is_adopted(tensor: &Tensor) -> bool {
    keeper(tensor).is_some()
}

/// Has a stream wait for what must be done before it uses a tensor. Memory of which nothing is known is
/// left to whoever uses it.
pub(crate) fn use_on(tensor: &Tensor, stream: &Stream, what: Use) -> Result<(), CudaError> {
    match keeper(tensor) {
        Some(memory) => memory.use_on(stream, what),
        None => Ok(()),
    }
}

/// Whether it is known who uses a tensor's memory, so that it is released, and looked at, when that is over.
pub(crate) fn is_ordered(tensor: &Tensor) -> bool {
    keeper(tensor).is_some()
}

/// The stream on which a tensor was last written, where that is known, and something can still be asked of it.
pub(crate) fn writer_of(tensor: &Tensor) -> Option<Stream> {
    keeper(tensor)?.writer()
}
