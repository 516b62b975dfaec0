//! [`beside_captures`]: what has nothing to do with a graph that is being captured.

use cudarc::driver::sys;
use std::marker::PhantomData;
use sys::CUstreamCaptureMode as Mode;

/// Until what this returns is dropped, this thread may do what waits for no stream that is being captured, but could:
/// ask an event, free memory, load code. Otherwise that is refused, and ends the capture, whoever's it is, as frameworks
/// capture in a mode that is for all threads.
///
/// The driver must have been started.
pub(super) fn beside_captures() -> BesideCaptures {
    BesideCaptures {
        before: exchanged(Mode::CU_STREAM_CAPTURE_MODE_RELAXED),
        _thread: PhantomData,
    }
}

/// The thread's mode is another one until this is dropped.
#[must_use = "when it is dropped, the thread's mode is what it was before"]
pub(super) struct BesideCaptures {
    before: Option<Mode>,
    /// The mode is a thread's: this mustn't leave its own.
    _thread: PhantomData<*const ()>,
}

impl Drop for BesideCaptures {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            exchanged(before);
        }
    }
}

/// Changes the thread's mode, and says which one it had. Where the driver fails, what comes next does, too.
fn exchanged(mut mode: Mode) -> Option<Mode> {
    // SAFETY: the driver was started, or there would be nothing to ask of it; it reads and writes a mode.
    let answer = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    (answer == sys::CUresult::CUDA_SUCCESS).then_some(mode)
}
