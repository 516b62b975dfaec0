//! `__cuda_array_interface__` of our own class.

use super::NEWEST;
use super::fields::typestr_of;
use crate::device::DeviceKind;
use crate::python::cuda::stream_order::ready_on;
use crate::python::tensor_object::PyTensor;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

#[pymethods]
impl PyTensor {
    /// Returns the tensor's `__cuda_array_interface__`; an `AttributeError` for host memory.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tensor = self.inner();
        let device = tensor.device();
        let lacks = |what: String| PyAttributeError::new_err(what);
        let is_of_cuda = matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged);
        if !is_of_cuda {
            return Err(lacks(format!(
                "a tensor on {device} has no __cuda_array_interface__"
            )));
        }
        let dtype = tensor.dtype();
        let typestr = typestr_of(dtype).filter(|_| !tensor.is_padded());
        let typestr = typestr.ok_or_else(|| {
            lacks(format!(
                "{dtype} has no name in __cuda_array_interface__; use DLPack"
            ))
        })?;
        let itemsize = (dtype.step_bits(false) / 8) as isize;
        let strides = match tensor.layout().is_contiguous() {
            true => None,
            false => {
                let strides = tensor.strides().iter().map(|stride| stride * itemsize);
                Some(PyTuple::new(py, strides.collect::<Vec<_>>())?)
            }
        };
        let address = match tensor.is_empty() {
            true => 0,
            false => tensor.data_ptr().addr(),
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
        interface.set_item("typestr", typestr)?;
        interface.set_item("data", (address, tensor.is_read_only()))?;
        interface.set_item("version", NEWEST)?;
        interface.set_item("strides", strides)?;
        interface.set_item("stream", ready_on(tensor)?)?;
        Ok(interface)
    }
}
