use dlbridge::half::bf16;
use dlbridge::layout::Sizes;
use dlbridge::python::{In, Like, List, OneOf, Out, RowMajor, detach};
use dlbridge::{DType, Float, Number, Tensor, View, dispatch};
use pyo3::{exceptions::PyValueError, prelude::*};

/// Arithmetic on tensors of any framework.
#[pymodule]
mod tensor_math {
    #[pymodule_export]
    use super::{RunningSum, add_, address, concat, layer_norm, mean, positions, relu};
    #[pymodule_export]
    use super::{scale_, sum_rows};
}

/// The address of the first element.
#[pyfunction]
fn address(x: In<'_>) -> usize {
    x.data_ptr().addr()
}

/// A new tensor: `x` where it is positive, else 0.
#[pyfunction]
fn relu<'py>(x: In<'py, f32>) -> PyResult<Like<'py>> {
    x.map_like(|x| if x < 0.0 { 0.0 } else { x })
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

/// The mean of all elements. Other threads run meanwhile.
#[pyfunction]
fn mean(py: Python<'_>, x: In<'_, OneOf<(f32, f64)>>) -> PyResult<f64> {
    let mean = dispatch!(mut x => detach(py, &mut x, mean_of));
    mean?.ok_or_else(|| PyValueError::new_err("the mean of no elements"))
}

fn mean_of<T: Number>(x: View<'_, T>) -> Option<f64> {
    let sum: f64 = x.iter().map(|x| x.to_f64()).sum();
    (!x.is_empty()).then(|| sum / x.len() as f64)
}

/// Either of two element types.
type Floats = OneOf<(f32, bf16)>;

/// Each row less its mean, over its standard deviation, times `weight`.
#[pyfunction]
fn layer_norm<'py>(x: In<'py, Floats>, weight: In<'py, Floats>) -> PyResult<Like<'py>> {
    dispatch!((x, weight) => normed(&x, &weight))
}

fn normed<'py, T: Float>(x: &In<'py, T>, weight: &In<'py, T>) -> PyResult<Like<'py>> {
    let mut sizes = Sizes::new();
    let [rows, features] = sizes.expect("x", x, ["n", "d"])?;
    sizes.expect("weight", weight, ["d"])?;
    let (elements, weight) = (x.view(), weight.view());
    let count = T::Wide::from_f64(features as f64);
    let moments = (0..rows).map(|i| {
        let row = || (0..features).map(move |j| elements[[i, j]].widen());
        let mean = row().sum::<T::Wide>() / count;
        let variance = row().map(|x| (x - mean) * (x - mean)).sum::<T::Wide>() / count;
        (mean, (variance + T::Wide::from_f64(1e-5)).sqrt())
    });
    let moments: Vec<_> = moments.collect();
    x.like_from_fn([rows, features], |[i, j]| {
        let (mean, deviation) = moments[i];
        T::narrow((elements[[i, j]].widen() - mean) / deviation * weight[[j]].widen())
    })
}

/// The elements of vectors, one vector after another.
#[pyfunction]
fn concat<'py>(tensors: List<In<'py, f32, 1>>) -> PyResult<Like<'py>> {
    let Some(first) = tensors.first() else {
        return Err(PyValueError::new_err("expected one tensor or more"));
    };
    let len = tensors.iter().map(|x| x.len()).sum();
    first.like_from_iter(&[len], tensors.iter().flat_map(|x| x.view().to_vec()))
}

/// 0, 1, 2, and so on, as integers of 64 bits if the framework of `x` has them, else of 32.
#[pyfunction]
fn positions<'py>(x: In<'py>) -> PyResult<Like<'py>> {
    match x.supports::<i64>()? {
        true => x.like_from_fn([x.len()], |[i]| i as i64),
        false => x.like_from_fn([x.len()], |[i]| i as i32),
    }
}

/// The sum of all vectors that were added.
#[pyclass]
struct RunningSum(Tensor);

#[pymethods]
impl RunningSum {
    #[new]
    fn new(size: usize) -> PyResult<Self> {
        Ok(Self(Tensor::zeros(&[size], DType::F32)?))
    }

    /// Adds a vector.
    fn add(&mut self, x: In<'_, f32, 1>) -> PyResult<()> {
        x.check_shape(self.0.shape())?;
        let sums = self.0.make_mut::<f32>()?;
        sums.into_iter()
            .zip(x.view())
            .for_each(|(sum, x)| *sum += x);
        Ok(())
    }

    /// The sum, shared, as a tensor of the framework that `like` is of.
    fn sum<'py>(&self, like: In<'py>) -> Like<'py> {
        like.like(self.0.clone())
    }
}
