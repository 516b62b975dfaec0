//! A data loader: a thread gathers the next batches while Python uses the last one.

use dlbridge::python::{Owned, RowMajor, to_framework};
use dlbridge::{Tensor, ops};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// How many batches may be ready at a time.
const READY: usize = 2;

// ANCHOR: loader
/// Batches of rows in random order, as tensors of the framework `to`.
#[pyclass(frozen)]
pub struct Loader {
    batches: Mutex<Receiver<PyResult<Tensor>>>,
    to: String,
}

#[pymethods]
impl Loader {
    /// Starts the thread. `data` is kept, not copied; its last use releases it.
    #[new]
    fn new(data: Owned<f32, 2, RowMajor>, batch: NonZeroUsize, seed: u64, to: String) -> Self {
        let data = data.into_tensor();
        let (sender, batches) = sync_channel(READY);
        thread::spawn(move || {
            let order = shuffled(data.shape()[0], seed);
            let gathered = order.chunks(batch.get()).map(|rows| gather(&data, rows));
            // Sending fails when the loader is dropped, which ends the thread.
            gathered
                .map(|rows| sender.send(rows))
                .take_while(Result::is_ok)
                .for_each(drop);
        });
        Self {
            batches: Mutex::new(batches),
            to,
        }
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// Waits for a batch while other threads run Python.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let batch = py.detach(|| self.batches.lock().ok()?.recv().ok());
        batch
            .map(|batch| to_framework(py, batch?, &self.to))
            .transpose()
    }
}

fn gather(data: &Tensor, rows: &[i64]) -> PyResult<Tensor> {
    let rows = Tensor::from_slice(rows, &[rows.len()])?;
    Ok(ops::take(data, &rows, 0)?)
}
// ANCHOR_END: loader

/// Returns the numbers below `count` in random order, by a
/// [Fisher–Yates shuffle](https://en.wikipedia.org/wiki/Fisher%E2%80%93Yates_shuffle).
fn shuffled(count: usize, seed: u64) -> Vec<i64> {
    let mut order: Vec<i64> = (0..).take(count).collect();
    let mut state = seed;
    for last in (1..count).rev() {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let at = (u128::from(state) * (last as u128 + 1)) >> 64;
        order.swap(at as usize, last);
    }
    order
}
