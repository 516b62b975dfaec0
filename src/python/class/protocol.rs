//! The class as a producer and a consumer of DLPack.

use super::PyTensor;
use crate::device::Device;
use crate::dlpack::python::{AllocationError, Exchange, Producer, table};
use crate::dlpack::{Abi, DLDevice, DLPackExchangeAPI, DLTensor, Managed, Versioned};
use crate::dtype::DType;
use crate::error::Error;
use crate::layout::Layout;
use crate::python::error::{not_exchangeable, not_importable};
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use std::ffi::c_void;

impl Producer for PyTensor {
    fn device(&self) -> DLDevice {
        self.tensor().device().into()
    }

    fn order(&self, stream: Option<&Bound<'_, PyInt>>) -> PyResult<()> {
        match stream {
            None => Ok(()),
            Some(stream) => Err(not_exchangeable(format!(
                "memory on {} is used on no stream, so it can't be made ready on stream {stream}",
                self.tensor().device()
            ))),
        }
    }

    fn share<A: Abi>(&self) -> PyResult<Managed<A>> {
        Ok(self.tensor().export_to::<A>().map_err(Error::from)?)
    }

    fn copy_to<A: Abi>(&self, device: DLDevice) -> PyResult<Managed<A>> {
        let to = Device::try_from(device).map_err(|error| not_importable(error.into()))?;
        if to != Device::CPU {
            let from = self.tensor().device();
            return Err(not_exchangeable(format!(
                "a tensor on {from} can't be copied to {to}"
            )));
        }
        let copy = self.tensor().copy()?;
        Ok(copy.export_into::<A>().map_err(Error::from)?)
    }
}

/// A table in a `static`.
pub(super) struct Shared(pub(super) DLPackExchangeAPI);

// SAFETY: nobody changes it, and what it points to is functions.
unsafe impl Sync for Shared {}

pub(super) static TABLE: Shared = Shared(table::<PyTensor>());

impl Exchange for PyTensor {
    fn own(object: Borrowed<'_, '_, PyAny>) -> PyResult<Managed<Versioned>> {
        Ok(object.cast::<Self>()?.get().tensor().to_dlpack())
    }

    fn borrow(object: Borrowed<'_, '_, PyAny>) -> PyResult<DLTensor> {
        Ok(object.cast::<Self>()?.get().tensor().describe())
    }

    fn make_object(py: Python<'_>, managed: Managed<Versioned>) -> PyResult<Bound<'_, PyAny>> {
        let tensor = Tensor::from_dlpack(managed).map_err(not_importable)?;
        Ok(tensor.into_pyobject(py)?.into_any())
    }

    unsafe fn allocate(prototype: &DLTensor) -> Result<Managed<Versioned>, AllocationError> {
        let failed = |error: Error| AllocationError {
            kind: match error {
                Error::Access(_) => "MemoryError",
                _ => "BufferError",
            },
            message: error.to_string(),
        };
        let device = Device::try_from(prototype.device).map_err(|error| failed(error.into()))?;
        if device != Device::CPU {
            return Err(AllocationError {
                kind: "BufferError",
                message: format!("dlbridge doesn't allocate on {device}"),
            });
        }
        let dtype = DType::try_from(prototype.dtype).map_err(|error| failed(error.into()))?;
        // SAFETY: the caller's promise; the strides say nothing here.
        let layout = unsafe { Layout::from_c(prototype.ndim, prototype.shape, std::ptr::null()) }
            .map_err(|error| failed(error.into()))?;
        let tensor = Tensor::zeroed(layout.shape(), dtype).map_err(failed)?;
        Ok(tensor.into_dlpack())
    }

    fn current_stream(_py: Python<'_>, device: DLDevice) -> PyResult<*mut c_void> {
        let device = Device::try_from(device).map_err(|error| not_importable(error.into()))?;
        if device.is_host_accessible() {
            Ok(std::ptr::null_mut())
        } else {
            Err(not_exchangeable(format!("no stream of {device} is in use")))
        }
    }
}
