//! Stream order of tensors: which streams use a tensor's memory, where this crate knows it.

use super::Memory;
use crate::cuda::driver::error::CudaError;
use crate::cuda::stream::Stream;
use crate::cuda::stream::last_writer::Use;
use crate::tensor::Tensor;

/// Returns what keeps a tensor's memory, where that is known here.
pub(super) fn keeper(tensor: &Tensor) -> Option<&Memory> {
    tensor.storage().sync_owner::<Memory>()
}

/// Has a stream wait for what must be done before it uses a tensor. Memory of which nothing is
/// known is left to its user.
pub(crate) fn use_on(tensor: &Tensor, stream: &Stream, what: Use) -> Result<(), CudaError> {
    match keeper(tensor) {
        Some(memory) => memory.use_on(stream, what),
        None => Ok(()),
    }
}

/// Returns whether it is known who uses a tensor's memory, so that it is released, and looked at,
/// when that is over.
pub(crate) fn is_ordered(tensor: &Tensor) -> bool {
    keeper(tensor).is_some()
}

/// Returns the stream on which a tensor was last written, where that is known, and something can
/// still be asked of it.
pub(crate) fn writer_of(tensor: &Tensor) -> Option<Stream> {
    keeper(tensor)?.writer()
}
