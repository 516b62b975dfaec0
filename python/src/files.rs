//! Files and messages.

use dlbridge::python::PyTensorFile;
use dlbridge::python::package::{Align, dump_tensors, read_bytes, save_tensors};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

type Named<'py> = Vec<(String, Bound<'py, PyAny>)>;
type Metadata = Option<Vec<(String, String)>>;

/// Opens a file by mapping it into memory.
#[pyfunction]
#[pyo3(name = "_open_file")]
pub(super) fn open_file(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    to: Option<&str>,
    writable: Option<bool>,
) -> PyResult<PyTensorFile> {
    dlbridge::python::package::open_file(py, path, format, to, writable)
}

/// Reads the descriptions of the tensors of bytes, which they share.
#[pyfunction]
#[pyo3(name = "_open_bytes")]
pub(super) fn open_bytes(data: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<PyTensorFile> {
    read_bytes(data, format)
}

/// Writes tensors to a file. Returns the names of those that couldn't be aligned.
#[pyfunction]
#[pyo3(name = "_save_file")]
pub(super) fn save_file(
    py: Python<'_>,
    path: PathBuf,
    tensors: Named<'_>,
    format: Option<&str>,
    align: Align,
    metadata: Metadata,
    external: Option<String>,
) -> PyResult<Vec<String>> {
    save_tensors(py, path, tensors, format, (align, metadata), external)
}

/// Returns the bytes of a file or message.
#[pyfunction]
#[pyo3(name = "_save_bytes")]
pub(super) fn save_bytes<'py>(
    py: Python<'py>,
    tensors: Named<'py>,
    format: &str,
    align: Align,
    metadata: Metadata,
) -> PyResult<Bound<'py, PyBytes>> {
    dump_tensors(py, tensors, format, (align, metadata))
}
