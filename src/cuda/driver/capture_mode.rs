//! Relaxed capture mode, so that driver calls never invalidate a graph capture.

use crate::cuda::driver::answer::ask;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use std::ffi::c_int;
use std::marker::PhantomData;

/// Puts this thread in relaxed capture mode, until the guard is dropped.
///
/// In it a thread may query events, free memory and load code while any stream is being captured.
/// In the other modes, global for all threads in most frameworks, such calls fail and invalidate
/// the capture.
///
/// The driver must have been started.
pub(in crate::cuda) fn relax_capture_mode() -> RelaxedCapture {
    RelaxedCapture {
        before: exchanged(Mode::CU_STREAM_CAPTURE_MODE_RELAXED as c_int),
        _thread: PhantomData,
    }
}

/// Guard of [`relax_capture_mode`].
#[must_use = "when it is dropped, the thread's mode is what it was before"]
pub(in crate::cuda) struct RelaxedCapture {
    before: Option<c_int>,
    /// The mode is a thread's: this mustn't leave its own.
    _thread: PhantomData<*const ()>,
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            exchanged(before);
        }
    }
}

/// Changes the thread's mode, and says which one it had. Where the driver fails, what comes next
/// does, too.
fn exchanged(mut mode: c_int) -> Option<c_int> {
    // SAFETY: the driver was started, or there would be nothing to ask of it; it reads and writes
    // one integer.
    let answer = unsafe { ask!(cuThreadExchangeStreamCaptureMode(&mut mode)) };
    answer.checked().ok().map(|()| mode)
}
