//! [`RunningStreams`]: the streams that may still run a module's code.

use crate::cuda::driver::answer::ask;
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::stream::Stream;
use cudarc::driver::sys;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// On which streams kernels of a module were launched.
pub(super) struct RunningStreams {
    /// The handle of a stream that is noted below, which mostly is the next one's too.
    last: AtomicUsize,
    /// They are kept, so that they can be asked what they have done.
    streams: Mutex<Vec<Stream>>,
    /// Whether there was a stream that may be gone when it would be asked.
    unknown: AtomicBool,
}

/// The handle of no stream.
const NONE: usize = usize::MAX;

/// With more streams than these, those that are done are forgotten first, so that a module whose
/// user makes new streams all the time doesn't keep them.
const MANY: usize = 8;

impl RunningStreams {
    pub(super) fn none() -> Self {
        Self {
            last: AtomicUsize::new(NONE),
            streams: Mutex::default(),
            unknown: AtomicBool::new(false),
        }
    }

    /// Notes that a kernel was launched. That is later than the query that found the stream idle
    /// and removed it.
    #[inline]
    pub(super) fn note(&self, stream: &Stream) {
        if self.last.load(Ordering::Acquire) != stream.handle().addr() {
            self.note_another(stream);
        }
    }

    #[inline(never)]
    fn note_another(&self, stream: &Stream) {
        if !stream.outlives_its_uses() {
            // Another stream may have the same handle later, so that isn't noted.
            self.unknown.store(true, Ordering::Relaxed);
            return;
        }
        let mut forgotten = Vec::new();
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        // First of all, so that who launches on the one that was the last, and is forgotten now,
        // notes it again.
        self.last.store(stream.handle().addr(), Ordering::Release);
        if !streams.contains(stream) {
            if streams.len() >= MANY {
                let is_idle = |stream: &mut Stream| matches!(is_idle(stream), Ok(true));
                forgotten.extend(streams.extract_if(.., is_idle));
            }
            streams.push(stream.clone());
        }
        drop(streams);
        // Their end may be that of their keepers, which is foreign code.
        drop(forgotten);
    }

    /// Returns whether all of that is done, or must be by now: the GPU is waited for where a stream
    /// can't be asked. Its context is current.
    pub(super) fn are_over(&mut self) -> Result<bool, CudaError> {
        let streams = self
            .streams
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for stream in streams.iter() {
            if !is_idle(stream)? {
                return Ok(false);
            }
        }
        if *self.unknown.get_mut() {
            let _relaxed = relax_capture_mode();
            // SAFETY: the caller entered the GPU.
            let answer = unsafe { ask!(cuCtxSynchronize()) };
            if answer.is(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
                return Ok(false);
            }
            answer.checked()?;
        }
        Ok(true)
    }
}

/// Returns whether a stream has nothing to do. One that is captured isn't to be asked more than
/// that.
fn is_idle(stream: &Stream) -> Result<bool, CudaError> {
    Ok(!stream.is_capturing()? && stream.is_done()?)
}
