//! Current streams of frameworks.

use super::super::error::unsuitable;
use super::interface::Interface;
use super::ready::Ready;
use super::stream_class::find_shared;
use super::stream_handle::of_handle;
use crate::cuda::{CudaError, Gpu, Stream, is_present};
use crate::device::{Device, DeviceKind};
use crate::dlpack::python::Table;
use crate::dlpack::python::intern;
use crate::error::IncompatibilityKind as Kind;
use crate::python::frameworks::{CurrentStream, Framework, Streams, TableVendor};
use crate::python::import::type_cache::ImportPath;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyInt, PyType};
use std::ptr;

/// Who works on which stream.
pub(in crate::python) enum Worker {
    /// A framework, on the stream that is its current one.
    On(Stream),
    /// Our own class: each tensor knows where it is used.
    Own,
    /// Unknown.
    Unknown,
    /// A library, on a stream whose handle isn't known to be one: see [`Ready::Untracked`].
    Untracked,
}

/// Returns the stream on which the framework of an object works.
pub(in crate::python) fn worker_of(object: Borrowed<'_, '_, PyAny>, gpu: Gpu) -> PyResult<Worker> {
    find_shared(object.py());
    let path = match ImportPath::for_object(object) {
        Ok(path) => path,
        Err(_) => {
            let ready = Interface::of(object)?.map(Interface::into_ready);
            return Ok(match ready {
                Some(Ready::On(stream)) => Worker::On(stream),
                Some(Ready::Untracked(_)) => Worker::Untracked,
                Some(Ready::Now) | None => Worker::Unknown,
            });
        }
    };
    match path {
        ImportPath::Own => Ok(Worker::Own),
        ImportPath::Table(table, vendor) => match of_table(object.py(), table, vendor, gpu)? {
            Some(stream) => Ok(Worker::On(stream)),
            None => Ok(Worker::Unknown),
        },
        _ => match streams_of(&object.get_type()).and_then(|streams| streams.current) {
            Some(current) => current_of(current, object.py(), gpu).map(Worker::On),
            None => Ok(Worker::Unknown),
        },
    }
}

/// Returns the stream on which a table's framework works, if it says so.
pub(in crate::python) fn of_table(
    py: Python<'_>,
    table: Table,
    vendor: &TableVendor,
    gpu: Gpu,
) -> PyResult<Option<Stream>> {
    if !table.can_tell_stream() {
        return Ok(None);
    }
    let handle = table.current_stream(py, gpu.device().into())?;
    let lasts = (vendor.stream_lasts)(py, gpu.id(), handle.addr());
    // SAFETY: it is one of that device, current now; it is only called lasting where its framework
    // never destroys it.
    Ok(Some(unsafe {
        let stream = Stream::from_raw(gpu, handle);
        match lasts {
            true => stream.lasting(),
            false => stream,
        }
    }))
}

/// Returns the stream on which a framework works, as its row tells.
pub(in crate::python) fn current_of(
    current: CurrentStream,
    py: Python<'_>,
    gpu: Gpu,
) -> PyResult<Stream> {
    let (handle, keeper) = current(py, gpu.id())?;
    // SAFETY: rows return the handle of a stream of the requested GPU, and the object that keeps
    // it.
    Ok(unsafe { of_handle(gpu, handle, keeper.as_borrowed()) })
}

/// Returns the stream to send to a producer by `__dlpack__`, as the array API standard numbers
/// them; `None` where it is on the host.
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
    find_shared(py);
    let device: Device = ask.call0()?.extract()?;
    if !matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged) {
        return Ok(None);
    }
    let gpu = Gpu::from_device(device)?;
    let number = match worker_of(object.as_borrowed(), gpu)? {
        Worker::On(stream) => number_of(&stream) as isize,
        Worker::Own | Worker::Unknown | Worker::Untracked => {
            let stream = Stream::current(gpu);
            let is_capturing = stream != Stream::default_of(gpu) && stream.is_capturing()?;
            let misread = || streams_of(&object.get_type())?.misreads_unordered;
            if is_capturing && let Some(what) = misread() {
                return Err(CudaError::Capturing { what }.into());
            }
            match is_capturing {
                // What others do can't become part of a graph. It is to be done before that is
                // launched.
                true => UNORDERED,
                false => number_of(&stream) as isize,
            }
        }
    };
    Ok(Some(number.into_pyobject(py)?.into_any()))
}

fn streams_of(kind: &Bound<'_, PyType>) -> Option<&'static Streams> {
    Framework::of_type(kind).map(|framework| &framework.streams)
}

/// The number that requests no stream order, by the array API standard.
const UNORDERED: isize = -1;

/// Returns a stream's number in the array API standard, in which 0 is invalid: it could be either
/// of two.
pub(in crate::python) fn number_of(stream: &Stream) -> usize {
    stream.handle().addr().max(1)
}

/// Returns the stream of a number that a consumer sent; `None` where it wants no order at all.
pub(in crate::python) fn of_number(
    gpu: Gpu,
    number: &Bound<'_, PyInt>,
) -> PyResult<Option<Stream>> {
    match number.extract::<i128>()? {
        -1 => Ok(None),
        0 => Err(unsuitable(
            "stream 0 is ambiguous: pass 1 for the default stream, or 2 for the thread's own"
                .to_owned(),
        )),
        number => {
            let handle = usize::try_from(number);
            let handle = handle.map_err(|_| {
                unsuitable((Kind::Value, format!("expected a CUDA stream, got {number}")))
            })?;
            // SAFETY: the consumer's promise, which is that of the protocol.
            Ok(Some(unsafe {
                Stream::from_raw(gpu, ptr::without_provenance_mut(handle))
            }))
        }
    }
}

impl From<CudaError> for super::super::error::Refused {
    #[cold]
    fn from(error: CudaError) -> Self {
        PyErr::from(error).into()
    }
}
