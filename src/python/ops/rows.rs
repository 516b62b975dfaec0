//! Kernels as dicts, for Python code that lists them.

use crate::kernel::{KernelInfo, Registry};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// All kernels of ops that were registered by macros, a dict each.
///
/// # Errors
///
/// When Python has no memory for them.
pub fn kernel_rows(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    rows(py, &Registry::global().kernels())
}

/// Kernels, a dict each.
pub(super) fn rows<'py>(
    py: Python<'py>,
    kernels: &[KernelInfo],
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    kernels.iter().map(|kernel| row(py, kernel)).collect()
}

fn row<'py>(py: Python<'py>, kernel: &KernelInfo) -> PyResult<Bound<'py, PyAny>> {
    let row = PyDict::new(py);
    row.set_item("op", &kernel.op)?;
    row.set_item("device", kernel.device.name())?;
    let types = PyDict::new(py);
    for (variable, allowed) in &kernel.types {
        let names: Vec<_> = allowed.iter().map(ToString::to_string).collect();
        types.set_item(variable, names)?;
    }
    row.set_item("types", types)?;
    row.set_item("label", &kernel.label)?;
    row.set_item("priority", kernel.priority)?;
    row.set_item("description", &kernel.description)?;
    row.set_item("origin", kernel.origin)?;
    Ok(row.into_any())
}
