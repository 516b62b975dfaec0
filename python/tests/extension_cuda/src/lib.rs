//! Functions and ops for tensors on a GPU, for the Python tests.

mod ops;

use dlbridge::cuda::{Gpu, Stream};
use dlbridge::python::{In, Out, PyTensor, publish_ops};
use pyo3::prelude::*;

#[pymodule]
fn dlbridge_cuda_testing(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTensor>()?;
    module.add_function(wrap_pyfunction!(address, module)?)?;
    module.add_function(wrap_pyfunction!(writable_address, module)?)?;
    module.add_function(wrap_pyfunction!(reading, module)?)?;
    module.add_function(wrap_pyfunction!(current_stream, module)?)?;
    module.add_function(wrap_pyfunction!(synchronize, module)?)?;
    publish_ops(module.py())
}

/// Where the elements are, and on which device.
#[pyfunction]
fn address(x: In<'_>) -> (usize, String) {
    (x.data_ptr().addr(), x.device().to_string())
}

/// The same of what is to be written.
#[pyfunction]
fn writable_address(x: Out<'_>) -> usize {
    x.data_ptr().addr()
}

/// Calls while `x` is read.
#[pyfunction]
fn reading<'py>(x: In<'py>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let answer = function.call0();
    drop(x);
    answer
}

/// The handle of the stream on which this extension works on this thread.
#[pyfunction]
fn current_stream(device: i32) -> PyResult<usize> {
    Ok(Stream::current(Gpu::new(device)?).handle().addr())
}

/// Waits for all work on a GPU, and releases what this extension keeps until then.
#[pyfunction]
fn synchronize(device: i32) -> PyResult<()> {
    Ok(Gpu::new(device)?.synchronize()?)
}
