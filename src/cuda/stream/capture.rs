//! Streams that are captured into graphs, and the waits that a capture survives.

use crate::cuda::driver::answer::ask;
use crate::cuda::driver::error::CudaError;
use crate::cuda::stream::Stream;
use cudarc::driver::sys;
use std::ffi::c_int;
use std::ptr;

/// What becomes of a stream's work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Capture {
    /// It is done.
    None,
    /// It becomes part of a graph.
    Active,
    /// The stream is the default one, and not to be used while another is captured that waits for
    /// it.
    Beside,
}

impl Stream {
    /// Returns whether its work becomes part of a graph at present, rather than being done. The
    /// default one is then not to be used, either, while another stream is captured that waits for
    /// it.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    pub fn is_capturing(&self) -> Result<bool, CudaError> {
        Ok(self.capture()? != Capture::None)
    }

    fn capture(&self) -> Result<Capture, CudaError> {
        let _context = self.gpu().enter()?;
        let none = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE as c_int;
        let mut status = none;
        // SAFETY: the context is current, and the stream there; the driver writes one integer.
        let answer = unsafe { ask!(cuStreamIsCapturing(self.raw()?, &mut status)) };
        if answer.is(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) {
            return Ok(Capture::Beside);
        }
        answer.checked()?;
        // A status that isn't known here counts as a capture.
        Ok(match status == none {
            true => Capture::None,
            false => Capture::Active,
        })
    }

    /// Returns the driver's number of the capture that the stream is part of.
    fn capture_id(&self) -> Result<u64, CudaError> {
        let _context = self.gpu().enter()?;
        let (mut status, mut id) = (0, 0);
        let (graph, nodes, count) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the context is current, and the stream there; the driver writes two integers, and
        // nothing through NULL.
        let answer = unsafe {
            ask!(cuStreamGetCaptureInfo_v2(
                self.raw()?,
                &mut status,
                &mut id,
                graph,
                nodes,
                count
            ))
        };
        answer.checked().map(|()| id)
    }

    /// Returns whether this stream must wait for another one by an event; not where a captured
    /// stream would wait for work that is done.
    ///
    /// # Errors
    ///
    /// Fails where the wait would invalidate a capture.
    pub(super) fn needs_event_of(&self, other: &Self) -> Result<bool, CudaError> {
        use Capture::{Active, Beside, None};
        match (self.capture()?, other.capture()?) {
            (None, None) => Ok(true),
            (Active, None) => Self::needless_in_graph(other.is_done()?).map(|()| false),
            (Active, Active) if self.capture_id()? == other.capture_id()? => Ok(true),
            (Active, Active) => Err(CudaError::Capturing {
                what: "no work of another graph can be waited for",
            }),
            // It becomes part of the graph; the default stream can't.
            (None, Active) if !self.handle().is_null() => Ok(true),
            (None, Active) | (Beside, _) | (_, Beside) => Err(CudaError::Capturing {
                what: "the default stream can't be used",
            }),
        }
    }

    /// Fails where a wait for another stream would make this one part of that one's graph, which
    /// nothing has asked for: the capture couldn't end until the other stream waits for it.
    pub(super) fn check_stays_outside(&self, other: &Self) -> Result<(), CudaError> {
        match other.capture()? == Capture::Active && self.capture()? == Capture::None {
            false => Ok(()),
            true => Err(CudaError::Capturing {
                what: "memory that the graph uses can't be used on a stream that isn't part of it",
            }),
        }
    }

    /// Fails unless the work is done: a captured stream can't wait for work outside of its graph,
    /// and an attempt would invalidate the capture.
    pub(super) fn needless_in_graph(is_done: bool) -> Result<(), CudaError> {
        match is_done {
            true => Ok(()),
            false => Err(CudaError::Capturing {
                what: "no work outside of it can be waited for",
            }),
        }
    }
}
