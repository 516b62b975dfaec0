//! Another extension, as one that was built apart from the one that most of the tests call.

use dlbridge::Tensor;
use dlbridge::python::{In, Like, Out, Owned, PyTensor};
use pyo3::prelude::*;

#[pymodule]
mod dlbridge_apart {
    #[pymodule_export]
    use super::{Lookup, PyTensor, add_, address, mean, relu, scale_, sum_rows};
}

#[pyfunction]
fn address(x: In<'_>) -> usize {
    x.data_ptr().addr()
}

#[pyfunction]
fn relu<'py>(x: In<'py, f32>) -> PyResult<Like<'py>> {
    let mut out = x.zeros_like::<f32>(x.shape())?;
    for (out, x) in out.view_mut()?.iter_mut().zip(x.view()) {
        *out = x.max(0.0);
    }
    Ok(x.like(out))
}

#[pyfunction]
fn scale_(mut x: Out<'_, f32>, factor: f32) {
    x.view_mut().iter_mut().for_each(|x| *x *= factor);
}

#[pyfunction]
fn add_(mut x: Out<'_, f32>, y: In<'_, f32>) -> PyResult<()> {
    y.check_shape(x.shape())?;
    x.view_mut()
        .into_iter()
        .zip(y.view())
        .for_each(|(x, y)| *x += y);
    Ok(())
}

#[pyfunction]
fn sum_rows<'py>(x: In<'py, f32, 2>) -> PyResult<Like<'py>> {
    let mut sums = x.zeros_like::<f32>(&x.shape()[..1])?;
    let columns = x.shape()[1];
    let view = x.view();
    for (row, sum) in sums.view_mut::<f32>()?.iter_mut().enumerate() {
        *sum = (0..columns).map(|column| view[[row, column]]).sum();
    }
    Ok(x.like(sums))
}

#[pyfunction]
fn mean(x: In<'_, f32>) -> f32 {
    x.view().iter().sum::<f32>() / x.len() as f32
}

/// A matrix that is kept, and whose rows are lent.
#[pyclass(frozen)]
struct Lookup(Tensor);

#[pymethods]
impl Lookup {
    #[new]
    fn new(matrix: Owned<f32, 2>) -> Self {
        Self(matrix.into_tensor())
    }

    fn row(&self, index: usize) -> PyResult<Tensor> {
        Ok(self.0.select(0, index)?)
    }

    fn rows<'py>(&self, start: usize, stop: usize, like: In<'py>) -> PyResult<Like<'py>> {
        Ok(like.like(self.0.slice(0, start..stop)?))
    }
}
