//! Ops as ops of frameworks' compilers: the part that isn't Python.

use super::PyOp;
use crate::hosts::{HostError, tensorflow, torch, tvm_ffi, xla};
use crate::python::error::raise;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{Bound, ffi};

#[pymethods]
impl PyOp {
    /// Its schema in PyTorch's dispatcher, and that of its functional form if it writes inputs.
    fn _torch_schemas(&self) -> PyResult<Vec<String>> {
        torch::schemas(&self.handle).map_err(refused)
    }

    /// Implements what was defined by these schemas, by the names that they were given. Returns
    /// False if the loaded PyTorch's C functions don't know some arguments.
    fn _torch_implement(&self, names: Vec<String>) -> PyResult<bool> {
        if !torch::is_native(&self.handle) {
            return Ok(false);
        }
        torch::implement(&self.handle, &names).map_err(refused)?;
        Ok(true)
    }

    /// Makes it a global function of tvm-ffi's.
    fn _tvm_publish(&self) -> PyResult<String> {
        tvm_ffi::publish(&self.handle).map_err(refused)
    }

    /// Defines it in TensorFlow, and returns its name there.
    fn _tensorflow_publish(&self) -> PyResult<String> {
        tensorflow::publish(&self.handle).map_err(refused)
    }

    /// Its handler for XLA's FFI, and the name of the target.
    fn _xla_target<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyAny>)> {
        let handler = xla::handler(&self.handle).map_err(refused)?;
        let name = c"xla._CUSTOM_CALL_TARGET".as_ptr();
        // SAFETY: the thread is attached; the name is static, and the address that of a function.
        let capsule = unsafe {
            let capsule = ffi::PyCapsule_New(handler as *mut std::ffi::c_void, name, None);
            Bound::from_owned_ptr_or_err(py, capsule)?
        };
        Ok((xla::target(&self.handle), capsule))
    }
}

fn refused(error: HostError) -> PyErr {
    raise::<PyRuntimeError>(error.incompatibility())
}
