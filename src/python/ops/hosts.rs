//! Ops as ops of frameworks' compilers: the part that isn't Python.

use super::PyOp;
use crate::hosts::{HostError, torch, tvm_ffi};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

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
}

fn refused(error: HostError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
