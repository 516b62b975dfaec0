//! Arguments of several element types.

use dlbridge::half::bf16;
use dlbridge::python::{Dict, In, Like, List, OneOf, Out, Owned, RowMajor, detach};
use dlbridge::{Float, Number, View, ViewMut, dispatch};
use pyo3::prelude::*;

register!(
    relu_either,
    sum_either,
    sum_either_detached,
    scale_either,
    kept_either,
    count_set,
    row_major_either,
    joined,
    weighted,
);

#[pyfunction]
fn relu_either<'py>(x: In<'py, OneOf<(f32, bf16)>>) -> PyResult<Like<'py>> {
    dispatch!(x => relu(x))
}

fn relu<'py, T: Float>(x: In<'py, T>) -> PyResult<Like<'py>> {
    x.map_like(|x| x.max(T::ZERO))
}

type Numbers = OneOf<(f64, f32, bf16, i64, u8)>;

#[pyfunction]
fn sum_either(x: In<'_, Numbers>) -> f64 {
    dispatch!(x => sum(x.view()))
}

fn sum<T: Number>(x: View<'_, T>) -> f64 {
    x.iter().map(|x| x.to_f64()).sum()
}

#[pyfunction]
fn sum_either_detached(py: Python<'_>, mut x: In<'_, OneOf<(f32, i64)>>) -> PyResult<f64> {
    detach(py, &mut x, |x| dispatch!(x, T in (f32, i64) => sum::<T>(x)))
}

type Floats = OneOf<(f32, f64)>;

#[pyfunction]
fn scale_either(
    py: Python<'_>,
    x: In<'_, Floats>,
    out: Out<'_, Floats>,
    factor: f64,
) -> PyResult<()> {
    dispatch!((mut x, mut out), T in (f32, f64) => {
        out.check_shape(x.shape())?;
        detach(py, (&mut x, &mut out), |(x, out)| scale::<T>(x, out, factor))
    })
}

fn scale<T: Float>(x: View<'_, T>, mut out: ViewMut<'_, T>, factor: f64) {
    let pairs = out.iter_mut().zip(x);
    pairs.for_each(|(out, x)| *out = *x * T::from_f64(factor));
}

#[pyfunction]
fn kept_either(x: Owned<OneOf<(f32, i64)>, 1>) -> PyResult<Vec<f64>> {
    dispatch!(x, T in (f32, i64) => {
        let numbers = x.view::<T>()?;
        Ok(numbers.iter().map(|x| x.to_f64()).collect())
    })
}

/// Bytes of `bool`s are checked, and others not.
#[pyfunction]
fn count_set(x: In<'_, OneOf<(bool, u8)>>) -> usize {
    dispatch!(x, T in (bool, u8) => x.view().iter().filter(|x| **x != T::default()).count())
}

#[pyfunction]
fn row_major_either(x: In<'_, OneOf<(f32, f64)>, 2, RowMajor>) -> usize {
    dispatch!(x => x.as_slice().len())
}

/// The sum of all, which must have one dtype.
#[pyfunction]
#[pyo3(signature = (x, others, bias=None))]
fn joined(
    x: In<'_, Floats>,
    others: Vec<In<'_, Floats>>,
    bias: Option<In<'_, Floats>>,
) -> PyResult<f64> {
    Ok(dispatch!((x, others, bias) => {
        let all = [x].into_iter().chain(others).chain(bias);
        all.map(|x| sum(x.view())).sum()
    }))
}

/// No tensor at all is as if all were `f32`.
#[pyfunction]
fn weighted(tensors: List<In<'_, Floats>>, weights: Dict<In<'_, Floats>>) -> PyResult<f64> {
    Ok(dispatch!((tensors, weights), T in (f32, f64) => {
        let all = tensors.iter().chain(weights.values());
        all.map(|x| sum::<T>(x.view())).sum()
    }))
}
