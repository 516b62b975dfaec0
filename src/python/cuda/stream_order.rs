//! Stream order of imported and exported memory.

use super::super::error::not_exchangeable;
use super::copies::settled;
use super::framework_streams::{Worker, current_of, number_of, of_number, of_table, worker_of};
use super::gpu::{gpu_of, gpu_of_order};
use super::ready::wait_for_gpu;
use crate::cuda::{
    CudaError, Gpu, Stream, Use, import, import_unordered, is_ordered, use_on, writer_of,
};
use crate::device::{Device, DeviceKind};
use crate::dlpack::python::Table;
use crate::error::IncompatibilityKind as Kind;
use crate::python::frameworks::{Streams, TableVendor};
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use std::ffi::c_void;
use std::ptr;

/// Returns a tensor that came from an object, to be used and released in the order of its
/// framework's work.
#[inline]
pub(in crate::python) fn adopted(
    object: Borrowed<'_, '_, PyAny>,
    tensor: Tensor,
) -> PyResult<Tensor> {
    let Some(gpu) = gpu_of_order(tensor.device())?.filter(|_| !is_ordered(&tensor)) else {
        return Ok(tensor);
    };
    match worker_of(object, gpu)? {
        Worker::Own => Ok(tensor),
        // What is released in the order of a stream the CPU could be given next.
        Worker::On(home) if tensor.device().is_host_accessible() => {
            Ok(import_unordered(tensor, &home)?)
        }
        Worker::On(home) => Ok(import(tensor, &home, &home)?),
        Worker::Unknown => Ok(import_unordered(tensor, &Stream::current(gpu))?),
        Worker::Untracked => {
            object.py().detach(|| wait_for_gpu(gpu))?;
            Ok(import_unordered(tensor, &Stream::current(gpu))?)
        }
    }
}

/// Waits until the CPU may look at managed memory that a producer has ready on this stream.
#[inline]
pub(in crate::python) fn wait_as_asked(
    device: Device,
    stream: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let Some(number) = stream.filter(|_| device.kind() == DeviceKind::CudaManaged) else {
        return Ok(());
    };
    match of_number(Gpu::from_device(device)?, number.cast::<PyInt>()?)? {
        // Attached, as the memory may be borrowed.
        Some(stream) if !stream.is_capturing()? => Ok(stream.synchronize()?),
        _ => Ok(()),
    }
}

/// Returns a tensor that came by our own table, which says that we work on our current stream.
pub(in crate::python) fn received(tensor: Tensor) -> PyResult<Tensor> {
    match gpu_of_order(tensor.device())? {
        Some(gpu) => Ok(import_unordered(tensor, &Stream::current(gpu))?),
        None => Ok(tensor),
    }
}

/// Orders a tensor's pending work before that of a table's framework, which imports without a wait.
#[inline]
pub(in crate::python) fn given_by_table(
    py: Python<'_>,
    tensor: &Tensor,
    table: Table,
    vendor: &TableVendor,
) -> PyResult<()> {
    let Some(gpu) = gpu_of(tensor.device())? else {
        return settled(tensor);
    };
    match of_table(py, table, vendor, gpu)? {
        Some(stream) => Ok(use_on(tensor, &stream, Use::Write)?),
        None => wait(tensor, gpu),
    }
}

/// Orders a tensor's pending work before that of a framework that will request it.
pub(in crate::python) fn given_to(
    py: Python<'_>,
    tensor: &Tensor,
    streams: &Streams,
) -> PyResult<()> {
    let Some(gpu) = gpu_of(tensor.device())? else {
        return settled(tensor);
    };
    match streams.current {
        Some(current) => Ok(use_on(tensor, &current_of(current, py, gpu)?, Use::Write)?),
        // It asks for itself, by number; or its table tells, when the tensor goes by that.
        None if streams.asks => Ok(()),
        // It takes a capsule without a word about streams.
        None => wait(tensor, gpu),
    }
}

/// Waits for a tensor's pending work, for a consumer without streams.
fn wait(tensor: &Tensor, gpu: Gpu) -> PyResult<()> {
    let stream = ready(tensor, gpu, Use::Write)?;
    Ok(stream.synchronize()?)
}

/// Returns a stream on which a tensor is ready to be used: the one on which it was last written,
/// where that is there.
fn ready(tensor: &Tensor, gpu: Gpu, what: Use) -> Result<Stream, CudaError> {
    let stream = writer_of(tensor).unwrap_or_else(|| Stream::current(gpu));
    use_on(tensor, &stream, what)?;
    Ok(stream)
}

/// Orders a tensor's pending work before the stream that a consumer names by number.
pub(in crate::python) fn ordered(
    tensor: &Tensor,
    stream: Option<&Bound<'_, PyInt>>,
) -> PyResult<()> {
    let device = tensor.device();
    let Some(gpu) = gpu_of(device)? else {
        return match stream {
            None => settled(tensor),
            // Streams use it, too.
            Some(number) if device.kind() == DeviceKind::CudaManaged => {
                match of_number(Gpu::from_device(device)?, number)? {
                    Some(stream) => Ok(use_on(tensor, &stream, Use::Write)?),
                    None => Ok(()),
                }
            }
            Some(stream) => Err(not_exchangeable((
                Kind::Device,
                format!(
                    "memory on {device} is used on no stream, so it can't be made ready on stream {stream}"
                ),
            ))),
        };
    };
    let stream = match stream {
        // Then the standard has the default stream meant.
        None => Some(Stream::default_of(gpu)),
        Some(number) => of_number(gpu, number)?,
    };
    match stream {
        Some(stream) => Ok(use_on(tensor, &stream, Use::Write)?),
        None => Ok(()),
    }
}

/// Orders a tensor's pending work before our current stream, for a consumer by our own table.
pub(in crate::python) fn lent(tensor: &Tensor) -> PyResult<()> {
    match gpu_of(tensor.device())? {
        Some(gpu) => Ok(use_on(tensor, &Stream::current(gpu), Use::Write)?),
        None => settled(tensor),
    }
}

/// Returns the stream that our own table reports.
pub(in crate::python) fn current_stream(device: Device) -> PyResult<*mut c_void> {
    if device.is_host_accessible() {
        return Ok(ptr::null_mut());
    }
    match gpu_of(device)? {
        Some(gpu) => Ok(Stream::current(gpu).handle()),
        None => Err(not_exchangeable((
            Kind::Device,
            format!("no stream of {device} is in use"),
        ))),
    }
}

/// Returns the stream on which a tensor is ready, by its number.
pub(in crate::python) fn ready_on(tensor: &Tensor) -> PyResult<Option<usize>> {
    let Some(gpu) = gpu_of(tensor.device())? else {
        return Ok(None);
    };
    Ok(Some(number_of(&ready(tensor, gpu, Use::Write)?)))
}
