//! Tensors that are kept.

use crate::kinds::facts;
use dlbridge::python::{ANY_RANK, Any, AnyDevice, Owned, RowMajor, Wanted, from_object};
use dlbridge::{Device, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Mutex;

register!(
    describe_owned,
    identity,
    import_,
    owned_row_major,
    owned_vector,
    keep,
    kept,
    take_out,
    release,
    release_detached,
    release_on_thread,
    keep_until_exit,
    owned_on_any_device,
    view_twice,
);

#[pyfunction]
fn describe_owned(py: Python<'_>, x: Tensor) -> PyResult<Bound<'_, PyDict>> {
    let facts = facts!(py, x);
    facts.set_item("copied", x.is_copied())?;
    facts.set_item("owner", x.storage().owner_name())?;
    Ok(facts)
}

/// Our object around any tensor.
#[pyfunction]
fn identity(x: Tensor) -> Tensor {
    x
}

#[pyfunction]
#[pyo3(signature = (x, *, copy=None, device=None))]
fn import_(x: &Bound<'_, PyAny>, copy: Option<bool>, device: Option<&str>) -> PyResult<Tensor> {
    let device = match device {
        Some(name) => Some(name.parse::<Device>().map_err(dlbridge::Error::from)?),
        None => None,
    };
    from_object(x, Wanted { copy, device })
}

#[pyfunction]
fn owned_row_major(x: Owned<f32, ANY_RANK, RowMajor>) -> Tensor {
    x.into_tensor()
}

#[pyfunction]
fn owned_vector(x: Owned<f32, 1>) -> usize {
    x.len()
}

#[pyfunction]
fn owned_on_any_device(x: Owned<Any, ANY_RANK, RowMajor, AnyDevice>) -> String {
    x.device().to_string()
}

/// Whether the elements can be seen through a second handle, too.
#[pyfunction]
fn view_twice(x: Tensor) -> PyResult<bool> {
    let other = x.clone();
    Ok(x.to_vec::<f32>()? == other.to_vec::<f32>()?)
}

static KEPT: Mutex<BTreeMap<usize, Tensor>> = Mutex::new(BTreeMap::new());

/// Keeps a tensor beyond the call, under a key.
#[pyfunction]
fn keep(x: Tensor) -> usize {
    let mut kept = KEPT.lock().unwrap();
    let key = kept.last_key_value().map_or(1, |(key, _)| key + 1);
    kept.insert(key, x);
    key
}

fn remove(key: usize) -> Option<Tensor> {
    KEPT.lock().unwrap().remove(&key)
}

#[pyfunction]
fn kept() -> usize {
    KEPT.lock().unwrap().len()
}

/// What was kept, as our object.
#[pyfunction]
fn take_out(key: usize) -> Option<Tensor> {
    remove(key)
}

#[pyfunction]
fn release(key: usize) -> bool {
    remove(key).is_some()
}

/// Without the GIL, on a thread that has it otherwise.
///
/// The tensor is taken out before: if a thread without the GIL had the lock while another one
/// forks, it would stay locked in the child.
#[pyfunction]
fn release_detached(py: Python<'_>, key: usize) -> bool {
    let tensor = remove(key);
    py.detach(|| tensor.map(drop).is_some())
}

/// On a thread that Python doesn't know.
#[pyfunction]
fn release_on_thread(py: Python<'_>, key: usize) -> bool {
    let tensor = remove(key);
    py.detach(|| std::thread::spawn(move || tensor.map(drop).is_some()).join())
        .unwrap()
}

/// Says on standard error when the last of a thread's tensors are gone.
struct Last(Vec<Tensor>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.clear();
        eprintln!("released at exit");
    }
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last(Vec::new())) };
}

/// Keeps a tensor until this thread ends: of the main thread, after the interpreter is gone.
#[pyfunction]
fn keep_until_exit(x: Tensor) {
    LAST.with(|last| last.borrow_mut().0.push(x));
}
