//! Ops and kernels, and who watches their calls.

use dlbridge::kernel::{Observer, Record, Registry, observe};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The function of an op.
#[pyfunction]
#[pyo3(name = "_op")]
pub(crate) fn op<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    dlbridge::python::op_named(py, name)
}

/// The names of all ops.
#[pyfunction]
#[pyo3(name = "_op_names")]
pub(crate) fn op_names() -> Vec<String> {
    let ops = Registry::global().ops();
    ops.iter().map(|op| op.name().to_owned()).collect()
}

/// All kernels, a dict each.
#[pyfunction]
#[pyo3(name = "_kernels")]
pub(crate) fn kernels(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    dlbridge::python::kernel_rows(py)
}

/// Op, kernel, shapes and element types of the arguments, bytes, seconds, and whether it failed.
type Row = (
    String,
    String,
    Vec<Vec<usize>>,
    Vec<String>,
    usize,
    f64,
    bool,
);

/// Watches calls.
#[pyclass(frozen, name = "_Recorder")]
pub(crate) struct Recorder {
    rows: Arc<Mutex<Vec<Row>>>,
    observer: Mutex<Option<Observer>>,
}

#[pymethods]
impl Recorder {
    #[new]
    fn new() -> Self {
        Self {
            rows: Arc::default(),
            observer: Mutex::default(),
        }
    }

    /// Begins to watch.
    fn start(&self) {
        let rows = Arc::clone(&self.rows);
        let watch = observe(move |record| {
            let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
            rows.push(row(record));
        });
        let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
        *observer = Some(watch);
    }

    /// Ends the watch.
    fn stop(&self) {
        let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
        *observer = None;
    }

    fn __len__(&self) -> usize {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.len()
    }

    /// What was seen.
    fn rows(&self) -> Vec<Row> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.clone()
    }
}

fn row(record: &Record<'_>) -> Row {
    let operands = record.operands.iter();
    (
        record.op.to_owned(),
        record.kernel.to_owned(),
        operands
            .clone()
            .map(|operand| operand.shape().to_vec())
            .collect(),
        operands
            .map(|operand| operand.dtype().to_string())
            .collect(),
        record.bytes(),
        record.time.as_secs_f64(),
        record.failed,
    )
}
