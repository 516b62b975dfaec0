//! Python's tensors on GPUs: the frameworks' streams, and the stream order of their memory.
//!
//! An exchange table tells its framework's current stream; CuPy's function returns it. Of others
//! none is known: they are asked, as the array API standard has it, to have their tensor ready on
//! the thread's current stream ([`Stream::current`](crate::cuda::Stream::current)), and keep it
//! until the work on it is done.

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
    adopted, current_stream, given_by_table, given_to, lent, ordered, received, wait_as_asked,
};

use super::error::{cuda_failed, not_exchangeable, out_of_memory, unsuitable};
use crate::cuda::CudaError;
use pyo3::prelude::*;

impl From<CudaError> for PyErr {
    #[cold]
    fn from(error: CudaError) -> Self {
        let fields = error.incompatibility();
        match error {
            CudaError::Tensor(error) => error.into(),
            CudaError::OutOfMemory { .. } => out_of_memory(fields),
            CudaError::Compile { .. } | CudaError::Launch { .. } => unsuitable(fields),
            _ if error.is_about_exchange() => not_exchangeable(fields),
            _ => cuda_failed(fields),
        }
    }
}
