//! On which stream a framework works.

use super::super::error::{not_exchangeable, unsuitable};
use super::super::lane::{Lane, Maker, root_module};
use super::super::take::Object;
use crate::cuda::{CudaError, Current, Gpu, Stream, is_present};
use crate::device::{Device, DeviceKind};
use crate::dlpack::python::Table;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyInt, PyTuple};
use pyo3::{Borrowed, intern};
use std::cell::RefCell;
use std::ptr;

/// Who works on which stream.
pub(super) enum Worker {
    /// A framework, on the stream that is its current one.
    On(Stream),
    /// Our own class: each tensor knows where it is used.
    Own,
    /// Nobody says.
    Unknown,
}

/// The stream on which the framework of an object works.
pub(super) fn worker_of(object: Borrowed<'_, '_, PyAny>, gpu: Gpu) -> PyResult<Worker> {
    let lane = match Lane::of(object) {
        Ok(lane) => lane,
        Err(_) => return Ok(Worker::Unknown),
    };
    match lane {
        Lane::Own => Ok(Worker::Own),
        Lane::Table(table, maker) => match of_table(object.py(), table, maker, gpu)? {
            Some(stream) => Ok(Worker::On(stream)),
            None => Ok(Worker::Unknown),
        },
        _ if root_module(&object.get_type()) == "cupy" => of_cupy(object.py(), gpu).map(Worker::On),
        _ => Ok(Worker::Unknown),
    }
}

/// The stream on which a table's framework works, if it says so.
pub(super) fn of_table(
    py: Python<'_>,
    table: Table,
    maker: Maker,
    gpu: Gpu,
) -> PyResult<Option<Stream>> {
    if !table.can_tell_stream() {
        return Ok(None);
    }
    let handle = table.current_stream(py, gpu.device().into())?;
    // SAFETY: it is one of that device, current now; those of these two frameworks are never destroyed.
    Ok(Some(unsafe {
        let stream = Stream::from_raw(gpu, handle);
        match maker {
            Maker::Torch | Maker::Paddle => stream.lasting(),
            Maker::Other => stream,
        }
    }))
}

/// The stream on which CuPy works.
pub(super) fn of_cupy(py: Python<'_>, gpu: Gpu) -> PyResult<Stream> {
    let cuda = py
        .import(intern!(py, "cupy"))?
        .getattr(intern!(py, "cuda"))?;
    let stream = cuda.call_method1(intern!(py, "get_current_stream"), (gpu.id(),))?;
    let handle: usize = stream.getattr(intern!(py, "ptr"))?.extract()?;
    // SAFETY: it is one of that device, which its object keeps.
    Ok(unsafe { of_handle(gpu, handle, stream.as_borrowed()) })
}

/// # Safety
///
/// The handle is that of a stream of this GPU, which is there as long as the object.
unsafe fn of_handle(gpu: Gpu, handle: usize, keeper: Borrowed<'_, '_, PyAny>) -> Stream {
    let handle = ptr::without_provenance_mut(handle);
    // SAFETY: the caller's promise.
    unsafe { Stream::from_raw(gpu, handle).kept(Keeper(Object::new(keeper))) }
}

/// An object that keeps a stream.
struct Keeper(#[allow(dead_code, reason = "it is kept")] Object);

// SAFETY: a shared reference to it gives nothing.
unsafe impl Sync for Keeper {}

/// The stream to send to a producer by `__dlpack__`, as the array API standard numbers them; `None`
/// where it is on the host.
pub(in crate::python) fn to_ask<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !is_present() || object.is_instance_of::<PyCapsule>() {
        return Ok(None);
    }
    let Some(ask) = object.getattr_opt(intern!(py, "__dlpack_device__"))? else {
        return Ok(None);
    };
    let device: Device = ask.call0()?.extract()?;
    if !matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged) {
        return Ok(None);
    }
    let gpu = Gpu::of(device)?;
    let stream = match worker_of(object.as_borrowed(), gpu)? {
        Worker::On(stream) => stream,
        Worker::Own | Worker::Unknown => Stream::current(gpu),
    };
    Ok(Some(number_of(&stream).into_pyobject(py)?.into_any()))
}

/// A stream's number in the array API standard, in which 0 is none: it could be either of two.
pub(super) fn number_of(stream: &Stream) -> usize {
    stream.handle().addr().max(1)
}

/// The stream of a number that a consumer sent; `None` where it wants no order at all.
pub(super) fn of_number(gpu: Gpu, number: &Bound<'_, PyInt>) -> PyResult<Option<Stream>> {
    match number.extract::<i128>()? {
        -1 => Ok(None),
        0 => Err(unsuitable(
            "stream 0 is none of CUDA's: pass 1 for the default stream, or 2 for the thread's own"
                .to_owned(),
        )),
        number => {
            let handle = usize::try_from(number);
            let handle = handle.map_err(|_| unsuitable(format!("{number} is no stream")))?;
            // SAFETY: the consumer's promise, which is that of the protocol.
            Ok(Some(unsafe {
                Stream::from_raw(gpu, ptr::without_provenance_mut(handle))
            }))
        }
    }
}

thread_local! {
    /// The streams that `with` made current.
    static ENTERED: RefCell<Vec<Current>> = const { RefCell::new(Vec::new()) };
}

/// A stream of a GPU: the order in which it does what it is asked for.
///
/// Without an argument it is a new one. With one it is that stream of PyTorch, CuPy, Numba, or anyone with
/// `__cuda_stream__`, or of a handle, which must be kept by whoever made it.
#[pyclass(frozen, weakref, name = "Stream", module = "dlbridge.cuda")]
#[derive(Debug)]
pub struct PyStream(pub(in crate::python) Stream);

impl From<Stream> for PyStream {
    fn from(stream: Stream) -> Self {
        Self(stream)
    }
}

impl PyStream {
    /// Anyone's stream.
    pub(super) fn of(stream: &Bound<'_, PyAny>, device: Option<Device>) -> PyResult<Self> {
        if let Ok(ours) = stream.cast::<Self>() {
            return match device {
                Some(device) if ours.get().0.gpu().device() != device => {
                    Err(not_exchangeable(format!(
                        "the stream is one of {}, not {device}",
                        ours.get().0.gpu().device()
                    )))
                }
                _ => Ok(Self(ours.get().0.clone())),
            };
        }
        let gpu = match (device, device_of(stream)?) {
            (Some(wanted), Some(found)) if wanted.id() != found => {
                return Err(not_exchangeable(format!(
                    "the stream is one of cuda:{found}, not {wanted}"
                )));
            }
            (None, Some(found)) => Gpu::new(found)?,
            _ => Gpu::of(device.unwrap_or(Device::cuda(0)))?,
        };
        let handle = handle_of(stream)?;
        // SAFETY: the object's word, which is what `__cuda_stream__` is for; a handle alone is the caller's.
        Ok(Self(unsafe {
            of_handle(gpu, handle, stream.as_borrowed())
        }))
    }
}

#[pymethods]
impl PyStream {
    #[new]
    #[pyo3(signature = (stream=None, /, *, device=None))]
    fn new(stream: Option<&Bound<'_, PyAny>>, device: Option<Device>) -> PyResult<Self> {
        match stream {
            Some(stream) => Self::of(stream, device),
            None => {
                let gpu = Gpu::of(device.unwrap_or(Device::cuda(0)))?;
                Ok(Self(Stream::new(gpu)?))
            }
        }
    }

    /// The handle, as CUDA has it: 0 is the default stream.
    #[getter]
    fn handle(&self) -> usize {
        self.0.handle().addr()
    }

    /// The GPU.
    #[getter]
    fn device(&self) -> super::super::class::PyDevice {
        super::super::class::PyDevice(self.0.gpu().device())
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

    /// Whether all work is done.
    fn is_done(&self) -> PyResult<bool> {
        Ok(self.0.is_done()?)
    }

    /// Whether work becomes part of a graph at present.
    fn is_capturing(&self) -> PyResult<bool> {
        Ok(self.0.is_capturing()?)
    }

    /// The protocol of streams: a version, and the handle.
    fn __cuda_stream__(&self) -> (u32, usize) {
        (0, self.handle())
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Bound<'py, Self> {
        let current = slf.get().0.make_current();
        ENTERED.with_borrow_mut(|entered| entered.push(current));
        slf.clone()
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        let left = ENTERED.with_borrow_mut(Vec::pop);
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

/// The handle of anyone's stream.
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
        if let Some(handle) = stream.getattr_opt(name)?
            && let Ok(handle) = handle.extract()
        {
            return Ok(handle);
        }
    }
    let what = stream.get_type().fully_qualified_name()?;
    Err(PyTypeError::new_err(format!("{what} is no stream")))
}

/// The number of the GPU that anyone's stream says it is of.
fn device_of(stream: &Bound<'_, PyAny>) -> PyResult<Option<i32>> {
    for name in ["device_index", "device_id"] {
        if let Some(id) = stream.getattr_opt(name)?
            && let Ok(id) = id.extract()
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

impl From<CudaError> for super::super::error::Refused {
    #[cold]
    fn from(error: CudaError) -> Self {
        PyErr::from(error).into()
    }
}
