//! The current stream of a thread.

use super::Stream;
use super::current_stack::{self, Current};
#[cfg(feature = "python")]
use super::peer_streams;
use crate::cuda::driver::gpu::Gpu;

impl Stream {
    /// Returns the thread's current stream for a GPU: the default stream, unless another one was
    /// [made current](Self::make_current).
    pub fn current(gpu: Gpu) -> Self {
        Self::explicit(gpu).unwrap_or_else(|| Self::default_of(gpu))
    }

    /// Returns the stream that was made current on this thread, if any.
    pub(crate) fn explicit(gpu: Gpu) -> Option<Self> {
        let here = current_stack::top(gpu);
        #[cfg(feature = "python")]
        let here = here.or_else(|| peer_streams::explicit(gpu));
        here
    }

    /// Makes this the thread's current stream, until the guard is dropped.
    pub fn make_current(&self) -> Current {
        current_stack::push(self.clone())
    }
}
