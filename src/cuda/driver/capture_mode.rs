//! Relaxed capture mode, so that driver calls never invalidate a graph capture.

use crate::cuda::driver::answer::ask;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use std::ffi::c_int;
use std::marker::PhantomData;

/// Until what this returns is dropped, this thread may do what waits for no stream that is being captured, but could:
/// ask an event, free memory, load code. Otherwise that is refused, and ends the capture, whoever's it is, as frameworks
/// capture in a mode that is for all threads.
///
/// The driver must have been started.
pub(in crate::cuda) fn relax_capture_mode() -> RelaxedCapture {
    RelaxedCapture {
        before: exchanged(Mode::CU_STREAM_CAPTURE_MODE_RELAXED as c_int),
        _thread: PhantomData,
    }
}

/// The thread's mode is another one until this is dropped.
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

/// Changes the thread's mode, and says which one it had. Where the driver fails, what comes next does, too.
fn exchanged(mut mode: c_int) -> Option<c_int> {
    // SAFETY: the driver was started, or there would be nothing to ask of it; it reads and writes one integer.
    let answer = unsafe { ask!(cuThreadExchangeStreamCaptureMode(&mut mode)) };
    answer.checked().ok().map(|()| mode)
}
