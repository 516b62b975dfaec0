//! The class `Stream`.

use super::super::error::{not_exchangeable, wrong_argument};
use super::stream_handle::of_handle;
use crate::cuda::peer_streams::{self, Shared};
use crate::cuda::{Current, Gpu, Stream};
use crate::device::Device;
use crate::dlpack::python::intern;
use crate::error::IncompatibilityKind as Kind;
use crate::python::dtype_and_device::PyDevice;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyInt, PyTuple};
use std::cell::RefCell;
use std::ffi::CStr;
use std::ptr::{self, NonNull};

/// The name of what is shared, and of the version in which that is.
const SHARED: &CStr = c"dlbridge.cuda.streams.1";

/// Connects this extension to the package's current streams. Each extension has its own.
pub(in crate::python) fn find_shared(py: Python<'_>) {
    if !peer_streams::is_found() {
        // Where the package isn't loaded, there is nothing to know yet.
        let _ = look_for_shared(py);
    }
}

#[cold]
fn look_for_shared(py: Python<'_>) -> PyResult<()> {
    let package = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?
        .get_item(intern!(py, "dlbridge._core"))?;
    let class = package.getattr(intern!(py, "Stream"))?;
    let capsule = class.getattr(intern!(py, "__dlbridge_streams__"))?;
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(SHARED))?;
    // SAFETY: what a capsule of this name leads to is this, for as long as the process runs.
    peer_streams::found(unsafe { pointer.cast::<Shared>().as_ref() });
    Ok(())
}

thread_local! {
    /// The streams that `with` made current.
    static ENTERED: RefCell<Vec<(Stream, Current)>> = const { RefCell::new(Vec::new()) };
}

/// A stream of a GPU: the order in which it does its work.
///
/// Without an argument it is a new one. With one it is that stream of PyTorch, CuPy, Numba, or
/// anyone with `__cuda_stream__`, or of a handle, which its creator must keep.
#[pyclass(frozen, weakref, name = "Stream", module = "dlbridge.cuda")]
#[derive(Debug)]
pub struct PyStream(pub(in crate::python) Stream);

impl From<Stream> for PyStream {
    fn from(stream: Stream) -> Self {
        Self(stream)
    }
}

impl PyStream {
    /// Returns the stream of a stream object of any library.
    pub(in crate::python) fn from_object(
        stream: &Bound<'_, PyAny>,
        device: Option<Device>,
    ) -> PyResult<Self> {
        if let Ok(ours) = stream.cast::<Self>() {
            return match device {
                Some(device) if ours.get().0.gpu().device() != device => Err(not_exchangeable((
                    Kind::Device,
                    format!(
                        "the stream is one of {}, not {device}",
                        ours.get().0.gpu().device()
                    ),
                ))),
                _ => Ok(Self(ours.get().0.clone())),
            };
        }
        let gpu = match (device, device_of(stream)?) {
            (Some(wanted), Some(found)) if wanted.id() != found => {
                return Err(not_exchangeable((
                    Kind::Device,
                    format!("the stream is one of cuda:{found}, not {wanted}"),
                )));
            }
            (None, Some(found)) => Gpu::new(found)?,
            _ => Gpu::from_device(device.unwrap_or(Device::cuda(0)))?,
        };
        let handle = handle_of(stream)?;
        // SAFETY: the object's word, which is what `__cuda_stream__` is for; a handle alone is the
        // caller's, and keeps nothing.
        Ok(Self(unsafe {
            match stream.is_instance_of::<PyInt>() {
                true => Stream::from_raw(gpu, ptr::without_provenance_mut(handle)),
                false => of_handle(gpu, handle, stream.as_borrowed()),
            }
        }))
    }
}

#[pymethods]
impl PyStream {
    #[new]
    #[pyo3(signature = (stream=None, /, *, device=None))]
    fn new(stream: Option<&Bound<'_, PyAny>>, device: Option<Device>) -> PyResult<Self> {
        match stream {
            Some(stream) => Self::from_object(stream, device),
            None => {
                let gpu = Gpu::from_device(device.unwrap_or(Device::cuda(0)))?;
                Ok(Self(Stream::new(gpu)?))
            }
        }
    }

    /// Returns the handle, as CUDA has it: 0 is the default stream.
    #[getter]
    fn handle(&self) -> usize {
        self.0.handle().addr()
    }

    /// Returns the GPU.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.gpu().device())
    }

    /// Returns the capsule by which extensions find the current stream.
    #[classattr]
    fn __dlbridge_streams__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        let pointer = NonNull::from(&peer_streams::OURS).cast();
        // SAFETY: what it leads to and the name stay, and nothing is to be released.
        unsafe { PyCapsule::new_with_pointer(py, pointer, SHARED) }
    }

    /// Has the work that comes from now on wait for what the other stream has to do by now.
    fn wait(&self, other: &Bound<'_, Self>) -> PyResult<()> {
        Ok(self.0.wait_for(&other.get().0)?)
    }

    /// Waits until all work is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let stream = self.0.clone();
        Ok(py.detach(|| stream.synchronize())?)
    }

    /// Returns whether all work is done.
    fn is_done(&self) -> PyResult<bool> {
        Ok(self.0.is_done()?)
    }

    /// Returns whether work becomes part of a graph at present.
    fn is_capturing(&self) -> PyResult<bool> {
        Ok(self.0.is_capturing()?)
    }

    /// Returns the protocol of streams: a version, and the handle.
    fn __cuda_stream__(&self) -> (u32, usize) {
        (0, self.handle())
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        let stream = slf.get().0.clone();
        let current = stream.make_current();
        ENTERED.with_borrow_mut(|entered| entered.push((stream, current)));
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        let left = ENTERED.with_borrow_mut(|entered| {
            // Not the newest of all: coroutines enter and leave in any order.
            let newest = entered.iter().rposition(|(stream, _)| *stream == self.0);
            newest.map(|at| entered.remove(at))
        });
        drop(left);
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        (self.handle() as u64).rotate_left(8) ^ self.0.gpu().id() as u64
    }

    fn __repr__(&self) -> String {
        format!(
            "Stream({:#x}, device='{}')",
            self.handle(),
            self.0.gpu().device()
        )
    }
}

/// Returns the handle of a stream object of any library.
fn handle_of(stream: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = stream.py();
    if stream.is_instance_of::<PyInt>() && !stream.is_instance_of::<PyBool>() {
        return stream.extract();
    }
    if let Some(ask) = stream.getattr_opt(intern!(py, "__cuda_stream__"))? {
        let (_, handle): (u32, usize) = ask.call0()?.extract()?;
        return Ok(handle);
    }
    // As PyTorch's, CuPy's and Numba's have it.
    for name in ["cuda_stream", "ptr", "handle"] {
        let Some(handle) = stream.getattr_opt(name)? else {
            continue;
        };
        if let Ok(handle) = handle.extract() {
            return Ok(handle);
        }
        // Numba's is a pointer of ctypes, whose value is None where it is NULL.
        if let Some(value) = handle.getattr_opt(intern!(py, "value"))?
            && let Ok(handle) = value.extract::<Option<usize>>()
        {
            return Ok(handle.unwrap_or(0));
        }
    }
    let what = stream.get_type().fully_qualified_name()?;
    let reason = format!("expected a CUDA stream, got {what}");
    Err(wrong_argument(what.to_string(), "a CUDA stream", reason))
}

/// Returns the number of a stream object's GPU. CuPy's default one is of -1: of any.
fn device_of(stream: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    for name in ["device_index", "device_id"] {
        if let Some(id) = stream.getattr_opt(name)?
            && let Ok(id) = id.extract()
            && id >= 0
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
