//! [`Events`]: a GPU's free list of CUDA events, which mark places in streams.

use crate::cuda::driver::answer::{ask, call};
use crate::cuda::driver::error::CudaError;
use cudarc::driver::sys;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A GPU's events that are not in use.
#[derive(Default)]
pub(in crate::cuda) struct Events(Mutex<Vec<Event>>);

/// A CUDA event, which marks a place in a stream.
pub(in crate::cuda) struct Event(sys::CUevent);

// SAFETY: a handle, which the driver takes on any thread.
unsafe impl Send for Event {}

/// More than these are destroyed when they are given back.
const MOST: usize = 256;

impl Events {
    /// Takes an event from the free list, or creates one. The GPU's context must be current.
    fn take(&self) -> Result<Event, CudaError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(event) = known {
            return Ok(event);
        }
        let mut event = ptr::null_mut();
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the caller entered the GPU.
        unsafe { call!(cuEventCreate(&mut event, flags)) }?;
        Ok(Event(event))
    }

    /// Returns an unused event to the pool.
    pub(in crate::cuda) fn give_back(&self, event: Event) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MOST {
            kept.push(event);
            return;
        }
        drop(kept);
        // SAFETY: it was created, and this is its end. The driver destroys it once it has happened.
        let _ = unsafe { ask!(cuEventDestroy_v2(event.0)) };
    }

    /// Marks the end of the work that a stream has by now. The GPU's context must be current.
    pub(in crate::cuda) fn mark(&self, stream: sys::CUstream) -> Result<Event, CudaError> {
        let event = self.take()?;
        // SAFETY: the caller entered the GPU, and vouches for its stream.
        match unsafe { call!(cuEventRecord(event.0, stream)) } {
            Ok(()) => Ok(event),
            Err(error) => {
                self.give_back(event);
                Err(error)
            }
        }
    }
}

impl Event {
    /// Makes a stream wait for the work before this event. The stream's context must be current.
    pub(in crate::cuda) fn hold_up(&self, stream: sys::CUstream) -> Result<(), CudaError> {
        // SAFETY: an event that was recorded; the caller entered the GPU, and vouches for its
        // stream.
        unsafe { call!(cuStreamWaitEvent(stream, self.0, 0)) }
    }

    /// Returns whether the work before it is done. The GPU's context must be current.
    pub(in crate::cuda) fn is_over(&self) -> Result<bool, CudaError> {
        // SAFETY: an event that was recorded.
        let answer = unsafe { ask!(cuEventQuery(self.0)) };
        if answer.is(sys::CUresult::CUDA_ERROR_NOT_READY) {
            return Ok(false);
        }
        answer.checked().map(|()| true)
    }
}
