//! Calls of ops with tensors on a GPU.

use crate::cuda::is_present;
use crate::cuda::{CudaError, Gpu, HeldDrops, Stream, release_after};
use crate::device::{Device, DeviceKind};
use crate::python::argument::BorrowedArg;
use crate::python::cuda::framework_streams::{Worker, worker_of};
use crate::python::cuda::gpu::gpu_of_order;
use crate::python::cuda::ready::wait_for_gpu;
use crate::python::cuda::stream_class::find_shared;
use crate::python::object::Object;
use pyo3::Borrowed;
use pyo3::prelude::*;
use smallvec::SmallVec;

/// What frameworks do with the memory of a call's arguments.
struct Theirs {
    /// Their streams, other than the one of the call.
    streams: SmallVec<[Stream; 2]>,
    /// What must be kept until the work is done: memory of the host, and objects whose stream is
    /// unknown, used again.
    kept: SmallVec<[Object; 2]>,
    /// Whether a tensor was asked to be ready on our current stream.
    is_asked: bool,
    /// Whether there is memory that is used on a stream that can't be queried.
    is_untracked: bool,
}

/// Makes a call on the stream on which its arguments' framework works, or on the one that was made
/// current. Where several frameworks take part, their streams wait for each other.
pub(in crate::python) fn run<'py, R, E>(
    py: Python<'py>,
    entered: &[Option<BorrowedArg<'py>>],
    call: impl FnOnce() -> Result<R, E>,
) -> PyResult<R>
where
    PyErr: From<E>,
{
    let is_of_gpu = |kind| matches!(kind, DeviceKind::Cuda | DeviceKind::CudaManaged);
    let mut devices = entered
        .iter()
        .flatten()
        .map(|argument| argument.get().device);
    match devices.find(|device| is_of_gpu(device.kind())) {
        Some(device) if is_present() => run_on(py, entered, Gpu::from_device(device)?, |_| call()),
        _ => Ok(call()?),
    }
}

/// [Runs](run) a call on this GPU, and passes its stream.
pub(super) fn run_on<'py, R, E>(
    py: Python<'py>,
    entered: &[Option<BorrowedArg<'py>>],
    gpu: Gpu,
    call: impl FnOnce(&Stream) -> Result<R, E>,
) -> PyResult<R>
where
    PyErr: From<E>,
{
    // Owners that are dropped now could run Python code, which could take the arguments' memory
    // away.
    let _held = HeldDrops::new();
    find_shared(py);
    let mut theirs = Theirs {
        streams: SmallVec::new(),
        kept: SmallVec::new(),
        is_asked: false,
        is_untracked: false,
    };
    theirs.find(py, entered, gpu)?;
    let is_untracked = theirs.is_untracked;
    if is_untracked {
        // Attached, as the arguments are borrowed for as long as no other thread runs Python.
        wait_for_gpu(gpu)?;
    }
    let first = || {
        theirs
            .streams
            .iter()
            .find(|theirs| theirs.gpu() == gpu)
            .cloned()
    };
    let stream = Stream::explicit(gpu).or_else(first);
    let stream = stream.unwrap_or_else(|| Stream::current(gpu));
    if theirs.is_asked {
        let ready_on = Stream::current(gpu);
        if !theirs.streams.contains(&ready_on) {
            theirs.streams.push(ready_on);
        }
    }
    theirs.streams.retain(|theirs| *theirs != stream);
    for other in &theirs.streams {
        stream.wait_for(other)?;
    }
    let result = {
        let _current = stream.make_current();
        call(&stream)
    };
    // Also where the call failed, as its work may be under way.
    let settled = theirs.settle(&stream);
    // What its library does with the memory next, on whichever stream, must come after the call's
    // work.
    let waited = match is_untracked {
        true => stream.synchronize(),
        false => Ok(()),
    };
    let result = result?;
    settled?;
    waited?;
    Ok(result)
}

impl Theirs {
    fn find<'py>(
        &mut self,
        py: Python<'py>,
        entered: &[Option<BorrowedArg<'py>>],
        gpu: Gpu,
    ) -> PyResult<()> {
        for argument in entered.iter().flatten() {
            let entry = argument.get();
            if entry.object.is_null() {
                continue;
            }
            // SAFETY: the entry has a reference to the object.
            let object = unsafe { Borrowed::from_ptr(py, entry.object) };
            let is_pinned_or_managed = entry.device.is_host_accessible();
            let mut is_kept = is_pinned_or_managed && entry.device != Device::CPU;
            // Managed memory may be another GPU's.
            let is_managed = entry.device.kind() == DeviceKind::CudaManaged;
            if let Some(of) = gpu_of_order(entry.device)?
                && (is_managed || of == gpu)
            {
                match worker_of(object, of)? {
                    Worker::On(stream) if self.streams.contains(&stream) => {}
                    Worker::On(stream) => self.streams.push(stream),
                    Worker::Own => {}
                    worker @ (Worker::Unknown | Worker::Untracked) => {
                        self.is_untracked |= matches!(worker, Worker::Untracked);
                        // Managed memory of another GPU was waited for when it was borrowed.
                        self.is_asked |= of == gpu;
                        is_kept = true;
                    }
                }
            }
            if is_kept {
                self.kept.push(Object::new(object));
                self.kept.extend(entry.kept_capsule(py));
            }
        }
        Ok(())
    }

    /// Makes the frameworks' streams wait for the work that a stream has by now.
    fn settle(self, stream: &Stream) -> Result<(), CudaError> {
        if self.streams.is_empty() && self.kept.is_empty() {
            return Ok(());
        }
        let mut outcome = Ok(());
        let is_captured = matches!(stream.is_capturing(), Ok(true));
        for other in &self.streams {
            // It isn't to become part of the graph.
            if is_captured && !matches!(other.is_capturing(), Ok(true)) {
                continue;
            }
            if let Err(error) = other.wait_for(stream) {
                // Then nothing may be left to wait for.
                let _ = stream.synchronize();
                outcome = Err(error);
            }
        }
        // What a graph uses, its owner keeps.
        if !self.kept.is_empty() && !is_captured {
            release_after(stream, self.kept)?;
        }
        outcome
    }
}
