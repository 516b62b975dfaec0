//! [`PyRecorder`]: an observer of calls, for Python.

use crate::kernel::{Observer, Record, observe};
use pyo3::prelude::*;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// When it was over, in nanoseconds of the clock, for calls of several extensions to be put in
/// order; op, kernel, shapes, element types and addresses of the arguments, bytes, seconds, and
/// whether it failed.
type Row = (
    u64,
    String,
    String,
    Vec<Vec<usize>>,
    Vec<String>,
    Vec<usize>,
    usize,
    f64,
    bool,
);

/// Watches calls of this extension's ops.
#[pyclass(frozen, name = "_Recorder", module = "dlbridge._core")]
pub struct PyRecorder {
    rows: Arc<Mutex<Vec<Row>>>,
    observer: Mutex<Option<Observer>>,
}

#[pymethods]
impl PyRecorder {
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

    /// Returns what was seen, from the row of this index on.
    fn rows(&self, start: usize) -> Vec<Row> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.get(start..).unwrap_or_default().to_vec()
    }
}

fn row(record: &Record<'_>) -> Row {
    let operands = record.operands.iter();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    (
        now.map_or(0, |now| now.as_nanos() as u64),
        record.op.to_owned(),
        record.kernel.to_owned(),
        operands
            .clone()
            .map(|operand| operand.shape().to_vec())
            .collect(),
        operands
            .clone()
            .map(|operand| operand.dtype().to_string())
            .collect(),
        operands.map(|operand| operand.data_ptr().addr()).collect(),
        record.nbytes(),
        record.time.as_secs_f64(),
        record.failed,
    )
}

impl fmt::Debug for PyRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PyRecorder").finish_non_exhaustive()
    }
}
