//! Clean-up after a copy that failed half-way.

use crate::cuda::driver::error::CudaError;
use crate::cuda::stream::Stream;
use crate::cuda::stream::deferred::release_after;

/// Waits for a stream whose work failed half-way. Where the driver fails at that too, the memory
/// that the work uses is kept until it is done.
pub(super) fn let_go<T: Send + 'static>(stream: &Stream, kept: impl FnOnce() -> T) {
    let is_over = |waited: Result<(), CudaError>| match waited {
        Ok(()) => true,
        // Then no work goes on.
        Err(error) => error.is_final(),
    };
    if is_over(stream.synchronize()) || is_over(stream.gpu().wait_for_all()) {
        return;
    }
    // It fails in a capture alone, in which no work is under way.
    let _kept = release_after(stream, kept());
}
