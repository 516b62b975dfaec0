//! Stand-in for `cuda` in builds without CUDA: GPU memory is passed on, and can't be allocated.

pub(super) use super::error::no_allocation;
use super::error::not_exchangeable;
use super::frameworks::{Streams, TableVendor};
use crate::device::Device;
use crate::dlpack::python::Table;
use crate::dlpack::{DLTensor, Flags};
use crate::dtype::DType;
use crate::error::IncompatibilityKind as Kind;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use std::borrow::Cow;
use std::ffi::c_void;
use std::ptr;

pub(super) fn to_ask<'py>(_: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(None)
}

pub(super) fn by_interface(_: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Tensor>> {
    Ok(None)
}

/// What there is none of without CUDA.
pub(super) enum Interface {}

impl Interface {
    pub(super) fn of(_: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Self>> {
        Ok(None)
    }

    pub(super) fn describe(&self) -> (DLTensor, Flags) {
        match *self {}
    }
}

pub(super) fn is_array(_: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    Ok(false)
}

#[inline]
pub(super) fn adopted(_: Borrowed<'_, '_, PyAny>, tensor: Tensor) -> PyResult<Tensor> {
    Ok(tensor)
}

#[inline]
pub(super) fn wait_as_asked(_: Device, _: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    Ok(())
}

pub(super) fn received(tensor: Tensor) -> PyResult<Tensor> {
    Ok(tensor)
}

#[inline]
pub(super) fn given_by_table(_: Python<'_>, _: &Tensor, _: Table, _: &TableVendor) -> PyResult<()> {
    Ok(())
}

pub(super) fn given_to(_: Python<'_>, _: &Tensor, _: &Streams) -> PyResult<()> {
    Ok(())
}

pub(super) fn ordered(tensor: &Tensor, stream: Option<&Bound<'_, PyInt>>) -> PyResult<()> {
    match stream {
        None => Ok(()),
        Some(stream) => Err(not_exchangeable((
            Kind::Device,
            format!(
                "memory on {} is used on no stream, so it can't be made ready on stream {stream}",
                tensor.device()
            ),
        ))),
    }
}

pub(super) fn lent(_: &Tensor) -> PyResult<()> {
    Ok(())
}

pub(super) fn current_stream(device: Device) -> PyResult<*mut c_void> {
    if device.is_host_accessible() {
        return Ok(ptr::null_mut());
    }
    Err(not_exchangeable((
        Kind::Device,
        format!("no stream of {device} is in use"),
    )))
}

pub(super) fn can_move(_: Device, _: Device) -> bool {
    false
}

pub(super) fn to_device(tensor: &Tensor, device: Device) -> PyResult<Tensor> {
    if tensor.device() == device {
        return Ok(tensor.clone());
    }
    Err(not_exchangeable((
        Kind::Device,
        format!(
            "the tensor is on {}, and dlbridge can't copy it to {device}",
            tensor.device()
        ),
    )))
}

pub(super) fn copy_on(tensor: &Tensor, device: Device) -> PyResult<Tensor> {
    if device != Device::CPU {
        let from = tensor.device();
        return Err(not_exchangeable((
            Kind::Device,
            format!("a tensor on {from} can't be copied to {device}"),
        )));
    }
    Ok(tensor.copy()?)
}

pub(super) fn copy(tensor: &Tensor) -> PyResult<Tensor> {
    Ok(tensor.copy()?)
}

pub(super) fn on_host(tensor: &Tensor) -> PyResult<Cow<'_, Tensor>> {
    Ok(Cow::Borrowed(tensor))
}

#[inline]
pub(super) fn settled(_: &Tensor) -> PyResult<()> {
    Ok(())
}

pub(super) fn make(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor, Error> {
    if device != Device::CPU {
        return Err(no_device(device).into());
    }
    Tensor::zeros(shape, dtype)
}

#[cold]
fn no_device(device: Device) -> Incompatibility {
    let reason = format!("dlbridge makes no tensors on {device}");
    Incompatibility::new(IncompatibilityKind::Device, device.to_string(), "cpu").with_reason(reason)
}
