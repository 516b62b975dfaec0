//! The class as a producer and a consumer of DLPack.

use crate::device::Device;
use crate::dlpack::python::{AllocationError, Exchange, Producer, table};
use crate::dlpack::{Abi, DLDevice, DLPackExchangeAPI, DLTensor, Managed, Versioned};
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::Layout;
use crate::python::cuda;
use crate::python::error::{no_allocation, not_exchangeable, not_importable};
use crate::python::readonly::ReadOnlyPolicy;
use crate::python::tensor_object::PyTensor;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use std::ffi::c_void;

impl Producer for PyTensor {
    fn device(&self) -> DLDevice {
        self.inner().device().into()
    }

    fn order(&self, stream: Option<&Bound<'_, PyInt>>) -> PyResult<()> {
        cuda::ordered(self.inner(), stream)
    }

    fn share<A: Abi>(&self) -> PyResult<Managed<A>> {
        Ok(self.inner().to_dlpack_as::<A>().map_err(Error::from)?)
    }

    fn copy_to<A: Abi>(&self, device: DLDevice) -> PyResult<Managed<A>> {
        let to = Device::try_from(device).map_err(|error| not_importable(error.into()))?;
        let copy = cuda::copy_on(self.inner(), to)?;
        Ok(copy.into_dlpack_as::<A>().map_err(Error::from)?)
    }
}

/// A table in a `static`.
pub(super) struct Shared(pub(super) DLPackExchangeAPI);

// SAFETY: the table is never written, and its pointers are to functions.
unsafe impl Sync for Shared {}

pub(super) static TABLE: Shared = Shared(table::<PyTensor>());

// SAFETY: the class is frozen, so an object has its tensor for good, and with it the sizes, strides
// and memory that are described. The streams are those that `cuda` has current, which it keeps.
unsafe impl Exchange for PyTensor {
    fn own(object: Borrowed<'_, '_, PyAny>) -> PyResult<Managed<Versioned>> {
        let tensor = object.cast::<Self>()?.get().inner();
        cuda::lent(tensor)?;
        Ok(tensor.to_dlpack())
    }

    fn borrow(object: Borrowed<'_, '_, PyAny>) -> PyResult<DLTensor> {
        let tensor = object.cast::<Self>()?.get().inner();
        // What is only borrowed for a call carries no flags, and most calls read.
        if tensor.is_read_only() && ReadOnlyPolicy::current(object.py())? == ReadOnlyPolicy::Refuse
        {
            return Err(not_exchangeable(
                Incompatibility::new(IncompatibilityKind::ReadOnly, "read-only", "writable")
                    .with_reason("the tensor is read-only, which the exchange table's borrowed DLTensor can't say")
                    .with_remedy("use managed_tensor_from_py_object_no_sync, whose flags say so"),
            ));
        }
        cuda::lent(tensor)?;
        Ok(tensor.describe())
    }

    fn make_object(py: Python<'_>, managed: Managed<Versioned>) -> PyResult<Bound<'_, PyAny>> {
        let tensor = Tensor::from_dlpack(managed).map_err(not_importable)?;
        Ok(cuda::received(tensor)?.into_pyobject(py)?.into_any())
    }

    unsafe fn allocate(prototype: &DLTensor) -> Result<Managed<Versioned>, AllocationError> {
        let failed = |error: Error| no_allocation(&error);
        let device = Device::try_from(prototype.device).map_err(|error| failed(error.into()))?;
        let dtype = DType::try_from(prototype.dtype).map_err(|error| failed(error.into()))?;
        // SAFETY: the prototype has as many sizes as its rank says; its strides are not read.
        let layout = unsafe { Layout::from_c(prototype.ndim, prototype.shape, std::ptr::null()) }
            .map_err(|error| failed(error.into()))?;
        let tensor = match device {
            Device::CPU => Tensor::zeroed(layout.shape(), dtype).map_err(failed)?,
            _ => cuda::make(layout.shape(), dtype, device)
                .map_err(|error| cuda::no_allocation(&error))?,
        };
        Ok(tensor.into_dlpack())
    }

    fn current_stream(_py: Python<'_>, device: DLDevice) -> PyResult<*mut c_void> {
        let device = Device::try_from(device).map_err(|error| not_importable(error.into()))?;
        cuda::current_stream(device)
    }
}
