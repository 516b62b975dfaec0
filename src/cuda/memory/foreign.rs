//! Import of other libraries' tensors on a GPU into stream order.

use crate::cuda::driver::error::CudaError;
use crate::cuda::memory::Memory;
use crate::cuda::memory::tensor_uses::is_ordered;
use crate::cuda::stream::Stream;
use crate::device::DeviceKind;
use crate::storage::Storage;
use crate::tensor::{Parts, Tensor};

/// Imports a foreign tensor into stream order: it is used and released after all work that needs
/// it. In managed memory, what looks at it waits for that work.
///
/// `home` is the producer's stream, in whose order it reuses the memory. `ready_on` is the stream
/// on which the tensor is ready, which may be the same.
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

/// Imports a tensor of a producer whose stream isn't known: its owner is kept until all work that
/// uses it is done.
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
    if !matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged) {
        return Err(CudaError::NotCuda { device });
    }
    if stream.gpu().id() != device.id() {
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
    let change = |parts: &mut Parts| {
        let empty = Storage::empty(parts.storage.device());
        let storage = std::mem::replace(&mut parts.storage, empty);
        parts.storage = Memory::foreign(storage, home, ready_on.clone());
    };
    // SAFETY: `Memory::foreign` gives a storage of the same memory, which keeps the one that it is
    // given.
    unsafe { tensor.with_parts(change) }
}
