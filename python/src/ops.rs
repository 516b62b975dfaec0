//! Ops and kernels.

use dlbridge::kernel::Registry;
use pyo3::prelude::*;

/// The function of an op.
#[pyfunction]
#[pyo3(name = "_op")]
pub(crate) fn op<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    dlbridge::python::package::op_named(py, name)
}

/// The names of all ops.
#[pyfunction]
#[pyo3(name = "_op_names")]
pub(crate) fn op_names() -> Vec<String> {
    let ops = Registry::global().ops();
    ops.iter().map(|op| op.name().to_owned()).collect()
}

/// The other names of ops.
#[pyfunction]
#[pyo3(name = "_op_aliases")]
pub(crate) fn op_aliases() -> Vec<String> {
    let ops = Registry::global().ops();
    let aliases = ops.iter().flat_map(|op| op.definition().aliases());
    aliases.map(str::to_owned).collect()
}

/// The known name that is nearest to an unknown one, or None.
#[pyfunction]
#[pyo3(name = "_nearest_name")]
pub(crate) fn nearest_name(name: &str, known: Vec<String>) -> Option<String> {
    dlbridge::python::package::nearest_name(name, &known).map(str::to_owned)
}

/// All kernels, a dict each.
#[pyfunction]
#[pyo3(name = "_kernels")]
pub(crate) fn kernels(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    dlbridge::python::package::kernel_rows(py)
}
