//! Python's tensors on GPUs: the frameworks' streams, and the stream order of their memory.
//!
//! An exchange table tells its framework's current stream; CuPy is asked for it. Of others none is
//! known: they are asked, as the array API standard has it, to have their tensor ready on the
//! thread's current stream ([`Stream::current`](crate::cuda::Stream::current)), and keep it until
//! the work on it is done.

mod copies;
pub(super) mod framework_streams;
pub(super) mod gpu;
mod interface;
pub(super) mod ready;
pub(super) mod stream_class;
mod stream_handle;
mod stream_order;

pub(super) use copies::{
    can_move, copy, copy_on, make, no_allocation, on_host, settled, to_device,
};
pub(super) use framework_streams::to_ask;
pub(super) use interface::{Interface, by_interface, is_array};
pub use stream_class::PyStream;
pub(super) use stream_order::{
    adopted, current_stream, given_by_table, given_to, lent, ordered, received,
};

use super::error::{cuda_failed, not_exchangeable, out_of_memory, unsuitable};
use crate::cuda::CudaError;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use pyo3::prelude::*;

impl From<CudaError> for PyErr {
    #[cold]
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::Tensor(error) => error.into(),
            CudaError::OutOfMemory { .. } => out_of_memory(Incompatibility::from_reason(
                Kind::Memory,
                error.to_string(),
            )),
            CudaError::Compile { .. } | CudaError::Launch { .. } => unsuitable(error.to_string()),
            _ if error.is_about_exchange() => not_exchangeable(Incompatibility::from_reason(
                Kind::Device,
                error.to_string(),
            )),
            _ => cuda_failed(error.to_string()),
        }
    }
}
