//! Memory that is kept, and written by others.

use dlbridge::Tensor;
use dlbridge::python::{In, Like, OrNumber, Out, Owned, PyTensor, RowMajor, Wanted, from_object};
use num_complex::Complex;
use pyo3::prelude::*;

register!(
    copy_owned,
    copy_tensor,
    copy_owned_backwards,
    sum_beside_number,
    number_has_slice,
    owned_matrix_rank,
    keep_in_two_ways,
);

/// A matrix that is kept, and whose rows are lent: as in the documentation of `Owned`.
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

    fn copy_row(&self, index: usize, mut out: Out<f32, 1>) -> PyResult<()> {
        let row = self.0.select(0, index)?;
        out.check_shape(row.shape())?;
        for (out, x) in out.view_mut().iter_mut().zip(row.view::<f32>()?) {
            *out = *x;
        }
        Ok(())
    }
}

pub(crate) fn register_class(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Lookup>()
}

fn copy(from: &Tensor, mut out: Out<'_, f32>) -> PyResult<()> {
    out.check_shape(from.shape())?;
    for (out, x) in out.view_mut().iter_mut().zip(from.view::<f32>()?) {
        *out = *x;
    }
    Ok(())
}

#[pyfunction]
fn copy_owned(x: Owned<f32>, out: Out<'_, f32>) -> PyResult<()> {
    copy(&x, out)
}

#[pyfunction]
fn copy_tensor(x: Tensor, out: Out<'_, f32>) -> PyResult<()> {
    copy(&x, out)
}

/// The same, whose written argument comes first.
#[pyfunction]
fn copy_owned_backwards(out: Out<'_, f32>, x: Owned<f32>) -> PyResult<()> {
    copy(&x, out)
}

#[pyfunction]
fn sum_beside_number(x: In<'_, f32>, number: OrNumber<'_, Complex<f32>>) -> f32 {
    x.view().iter().sum::<f32>() + number.view()[[]].re
}

/// Whether a number's one element is seen as a slice.
#[pyfunction]
fn number_has_slice(x: OrNumber<'_, f32>) -> bool {
    x.view().as_slice().is_some() && x.layout().is_contiguous()
}

#[pyfunction]
fn owned_matrix_rank(x: Owned<f32, 2, RowMajor>) -> usize {
    x.rank()
}

/// Calls while a tensor is kept that wasn't an argument: of an object of our class, or of any.
#[pyfunction]
fn keep_in_two_ways<'py>(
    x: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = match x.cast::<PyTensor>() {
        Ok(ours) => ours.get().tensor(x.py())?,
        Err(_) => from_object(x, Wanted::default())?,
    };
    let answer = function.call0();
    drop(tensor);
    answer
}
