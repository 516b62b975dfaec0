//! Readiness of an array with `__cuda_array_interface__`.
//!
//! Its stream is a number, and CUDA has no call that says whether a number is a stream: it follows
//! the handle. So only handles are used that are streams for another reason: 1 and 2, which stand
//! for the default ones; our current stream; and that of a stream object of Numba's, which keeps
//! it. For any other one the GPU is waited for as a whole, before the memory is used, and our work
//! on it before the call returns.

use super::stream_handle::of_handle;
use crate::cuda::{CudaError, Gpu, Stream};
use crate::python::error::unsuitable;
use crate::python::frameworks::stream_object;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::ptr;

/// When memory is ready to be used.
pub(in crate::python) enum Ready {
    /// It is.
    Now,
    /// In the order of this stream.
    On(Stream),
    /// After the work of a stream of this GPU whose handle isn't known to be one.
    Untracked(Gpu),
}

/// The default stream, and the thread's own.
const DEFAULTS: [usize; 2] = [1, 2];

impl Ready {
    /// Returns when an array is ready, by its stream's number.
    pub(super) fn of(object: Borrowed<'_, '_, PyAny>, gpu: Gpu, number: usize) -> PyResult<Self> {
        if number == 0 {
            return Err(unsuitable(
                "__cuda_array_interface__ has stream 0, which could be either of two: the default stream is 1, the \
                thread's own 2"
                    .to_owned(),
            ));
        }
        if DEFAULTS.contains(&number) {
            // SAFETY: each GPU has these streams, as long as the process runs.
            let stream = unsafe { Stream::from_raw(gpu, ptr::without_provenance_mut(number)) };
            return Ok(Self::On(stream));
        }
        let current = Stream::current(gpu);
        if current.handle().addr() == number {
            return Ok(Self::On(current));
        }
        match stream_object(object, number)? {
            // SAFETY: it is the handle of a stream object that the array keeps, and which keeps the
            // stream.
            Some(stream) => Ok(Self::On(unsafe {
                of_handle(gpu, number, stream.as_borrowed())
            })),
            None => Ok(Self::Untracked(gpu)),
        }
    }

    /// Waits until the memory is ready.
    pub(super) fn waited_for(self, py: Python<'_>) -> PyResult<Self> {
        match self {
            Self::Now => {}
            Self::On(stream) => py.detach(|| stream.synchronize())?,
            Self::Untracked(gpu) => py.detach(|| wait_for_gpu(gpu))?,
        }
        Ok(Self::Now)
    }
}

/// Waits for all work on a GPU. It runs no Python code.
pub(in crate::python) fn wait_for_gpu(gpu: Gpu) -> Result<(), CudaError> {
    if Stream::current(gpu).is_capturing()? {
        return Err(CudaError::Capturing {
            what: "an array whose stream isn't known can't be waited for",
        });
    }
    gpu.wait_for_all()
}
