//! The class `Tensor`, of which extensions return objects.
//!
//! Every extension that is built with this crate has a class of its own. They accept each other's
//! objects as they accept anyone's: through the exchange table.

mod values;

pub use values::{PyDType, PyDevice};

use super::error::{not_exchangeable, not_importable};
use crate::device::Device;
use crate::dlpack::python::{
    AllocationError, Exchange, Producer, Request, answer, keeping_exception, table, table_capsule,
};
use crate::dlpack::{Abi, DLDevice, DLPackExchangeAPI, DLTensor, Managed, Versioned};
use crate::dtype::DType;
use crate::error::Error;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyInt, PyTuple};
use std::ffi::c_void;
use std::mem::ManuallyDrop;

/// A [`Tensor`] as a Python object. It never changes; its elements may.
#[pyclass(frozen, weakref, name = "Tensor", module = "dlbridge")]
#[derive(Debug)]
pub struct PyTensor(Kept);

/// A tensor that Python keeps. Whoever releases its memory may call Python, so an exception that is
/// on its way meanwhile is put aside.
#[derive(Debug)]
pub(super) struct Kept(ManuallyDrop<Tensor>);

impl Kept {
    pub(super) fn new(tensor: Tensor) -> Self {
        Self(ManuallyDrop::new(tensor))
    }
}

impl std::ops::Deref for Kept {
    type Target = Tensor;

    #[inline]
    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it isn't used again.
        let mut tensor = Some(unsafe { ManuallyDrop::take(&mut self.0) });
        Python::try_attach(|py| keeping_exception(py, || drop(tensor.take())));
        // Where Python is gone, the tensor goes here.
    }
}

/// The tensor of an object of our class.
///
/// # Safety
///
/// The object is of this class.
#[inline]
pub(super) unsafe fn tensor_of<'a>(object: Borrowed<'a, '_, PyAny>) -> &'a Tensor {
    // SAFETY: the caller's promise; the class is frozen, so the object has it for good.
    let object = unsafe { object.cast_unchecked::<PyTensor>() };
    let tensor: *const Tensor = &raw const *object.get().0.0;
    // SAFETY: the object is there for as long as `'a`.
    unsafe { &*tensor }
}

impl PyTensor {
    /// The tensor.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }
}

impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        Self(Kept::new(tensor))
    }
}

impl<'py> IntoPyObject<'py> for Tensor {
    type Target = PyTensor;
    type Output = Bound<'py, PyTensor>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Bound::new(py, PyTensor::from(self))
    }
}

#[pymethods]
impl PyTensor {
    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.shape())
    }

    /// The steps between elements along each dimension, counted in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.strides())
    }

    /// The element type; its str is the name.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.0.dtype())
    }

    /// Where the memory is; its str is the name.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.0.device())
    }

    /// How many dimensions there are.
    #[getter]
    fn ndim(&self) -> usize {
        self.0.rank()
    }

    /// How many elements there are.
    #[getter]
    fn size(&self) -> usize {
        self.0.len()
    }

    /// How many bytes the elements would take one after another.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// The address of the first element.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.0.data_ptr().addr()
    }

    /// Whether the memory must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.0.is_read_only()
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let request = Request::parse(stream, max_version, dl_device, copy)?;
        answer(py, self, &request)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        let device = DLDevice::from(self.0.device());
        (device.device_type.0, device.device_id)
    }

    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        table_capsule(py, &TABLE.0)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", *self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }
}

impl Producer for PyTensor {
    fn device(&self) -> DLDevice {
        self.0.device().into()
    }

    fn order(&self, stream: Option<&Bound<'_, PyInt>>) -> PyResult<()> {
        match stream {
            None => Ok(()),
            Some(stream) => Err(not_exchangeable(format!(
                "memory on {} is used on no stream, so it can't be made ready on stream {stream}",
                self.0.device()
            ))),
        }
    }

    fn share<A: Abi>(&self) -> PyResult<Managed<A>> {
        Ok(self.0.export_to::<A>().map_err(Error::from)?)
    }

    fn copy_to<A: Abi>(&self, device: DLDevice) -> PyResult<Managed<A>> {
        let to = Device::try_from(device).map_err(|error| not_importable(error.into()))?;
        if to != Device::CPU {
            let from = self.0.device();
            return Err(not_exchangeable(format!(
                "a tensor on {from} can't be copied to {to}"
            )));
        }
        let copy = self.0.copy()?;
        Ok(copy.export_into::<A>().map_err(Error::from)?)
    }
}

/// A table in a `static`.
struct Shared(DLPackExchangeAPI);

// SAFETY: nobody changes it, and what it points to is functions.
unsafe impl Sync for Shared {}

static TABLE: Shared = Shared(table::<PyTensor>());

impl Exchange for PyTensor {
    fn own(object: Borrowed<'_, '_, PyAny>) -> PyResult<Managed<Versioned>> {
        Ok(object.cast::<Self>()?.get().0.to_dlpack())
    }

    fn borrow(object: Borrowed<'_, '_, PyAny>) -> PyResult<DLTensor> {
        Ok(object.cast::<Self>()?.get().0.describe())
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
        let layout = unsafe {
            crate::layout::Layout::from_c(prototype.ndim, prototype.shape, std::ptr::null())
        }
        .map_err(|error| failed(error.into()))?;
        let tensor = Tensor::zeros(layout.shape(), dtype).map_err(failed)?;
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
