use dlbridge::python::{In, Like, Out, RowMajor, detach};
use dlbridge::{Element, View};
use pyo3::{exceptions::PyValueError, prelude::*};

/// Arithmetic on tensors of any framework.
#[pymodule]
mod tensor_math {
    #[pymodule_export]
    use super::{add_, address, mean, relu, scale_, sum_rows};
}

/// The address of the first element.
#[pyfunction]
fn address(x: In<'_>) -> usize {
    x.data_ptr().addr()
}

/// A new tensor: `x` where it is positive, else 0.
#[pyfunction]
fn relu<'py>(x: In<'py, f32>) -> PyResult<Like<'py>> {
    let mut out = x.zeros_like::<f32>(x.shape())?;
    for (out, x) in out.view_mut()?.iter_mut().zip(x.view()) {
        *out = if *x < 0.0 { 0.0 } else { *x };
    }
    Ok(x.like(out))
}

/// Multiplies `x` by `factor`, in place.
#[pyfunction]
fn scale_(mut x: Out<'_, f32>, factor: f32) {
    x.view_mut().iter_mut().for_each(|x| *x *= factor);
}

/// Adds `y` to `x`, in place.
#[pyfunction]
fn add_(mut x: Out<'_, f32>, y: In<'_, f32>) -> PyResult<()> {
    y.check_shape(x.shape())?;
    let pairs = x.view_mut().into_iter().zip(y.view());
    pairs.for_each(|(x, y)| *x += y);
    Ok(())
}

/// The sum of each row of a matrix, as a new tensor.
#[pyfunction]
fn sum_rows<'py>(x: In<'py, f32, 2, RowMajor>) -> PyResult<Like<'py>> {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let mut sums = x.zeros_like::<f32>(&[rows])?;
    let rows = x.as_slice().chunks(columns.max(1));
    for (sum, row) in sums.view_mut::<f32>()?.iter_mut().zip(rows) {
        *sum = row.iter().sum();
    }
    Ok(x.like(sums))
}

/// A tensor of either element type.
#[derive(FromPyObject)]
enum Floats<'py> {
    #[pyo3(transparent, annotation = "float32")]
    F32(In<'py, f32>),
    #[pyo3(transparent, annotation = "float64")]
    F64(In<'py, f64>),
}

/// The mean of all elements. Other threads run meanwhile.
#[pyfunction]
fn mean(py: Python<'_>, x: Floats<'_>) -> PyResult<f64> {
    let mean = match x {
        Floats::F32(mut x) => detach(py, &mut x, mean_of),
        Floats::F64(mut x) => detach(py, &mut x, mean_of),
    };
    mean?.ok_or_else(|| PyValueError::new_err("the mean of no elements"))
}

fn mean_of<T: Element + Into<f64>>(x: View<'_, T>) -> Option<f64> {
    let sum: f64 = x.iter().map(|x| (*x).into()).sum();
    (!x.is_empty()).then(|| sum / x.len() as f64)
}
