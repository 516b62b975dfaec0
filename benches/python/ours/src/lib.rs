//! The functions that the Python benchmarks measure, each as an extension's author would write it.

mod machine;

use dlbridge::python::{In, Like, Out, RowMajor, detach, to_framework};
use dlbridge::{Tensor, View, ViewMut};
use pyo3::prelude::*;

fn sum(a: View<'_, f32>, b: View<'_, f32>, mut out: ViewMut<'_, f32>) {
    for ((out, a), b) in out.iter_mut().zip(&a).zip(&b) {
        *out = a + b;
    }
}

/// out = a + b, of any strides.
#[pyfunction]
fn add_strided(a: In<'_, f32>, b: In<'_, f32>, mut out: Out<'_, f32>) -> PyResult<()> {
    a.check_shape(out.shape())?;
    b.check_shape(out.shape())?;
    sum(a.view(), b.view(), out.view_mut());
    Ok(())
}

type Flat<'py> = In<'py, f32, { dlbridge::python::ANY_RANK }, RowMajor>;
type FlatOut<'py> = Out<'py, f32, { dlbridge::python::ANY_RANK }, RowMajor>;

/// out = a + b, of elements one after another.
#[pyfunction]
fn add(a: Flat<'_>, b: Flat<'_>, mut out: FlatOut<'_>) -> PyResult<()> {
    a.check_shape(out.shape())?;
    b.check_shape(out.shape())?;
    let (a, b) = (a.as_slice(), b.as_slice());
    for ((out, a), b) in out.as_mut_slice().iter_mut().zip(a).zip(b) {
        *out = a + b;
    }
    Ok(())
}

/// out = a + b, while other threads may run Python.
#[pyfunction]
fn add_released(
    py: Python<'_>,
    mut a: In<'_, f32>,
    mut b: In<'_, f32>,
    mut out: Out<'_, f32>,
) -> PyResult<()> {
    a.check_shape(out.shape())?;
    b.check_shape(out.shape())?;
    detach(py, (&mut a, &mut b, &mut out), |(a, b, out)| sum(a, b, out))
}

/// The last one is the sum of the others.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "that is what is measured")]
fn sum16(
    a: Flat<'_>,
    b: Flat<'_>,
    c: Flat<'_>,
    d: Flat<'_>,
    e: Flat<'_>,
    f: Flat<'_>,
    g: Flat<'_>,
    h: Flat<'_>,
    i: Flat<'_>,
    j: Flat<'_>,
    k: Flat<'_>,
    l: Flat<'_>,
    m: Flat<'_>,
    n: Flat<'_>,
    o: Flat<'_>,
    mut out: FlatOut<'_>,
) -> PyResult<()> {
    let inputs = [&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l, &m, &n, &o];
    for input in inputs {
        input.check_shape(out.shape())?;
    }
    for (at, out) in out.as_mut_slice().iter_mut().enumerate() {
        *out = inputs.iter().map(|input| input.as_slice()[at]).sum();
    }
    Ok(())
}

fn fresh() -> PyResult<Tensor> {
    Ok(Tensor::from_vec(
        vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0_f32],
        &[6],
    )?)
}

/// A new buffer as a tensor of PyTorch.
#[pyfunction]
fn fresh_torch(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_framework(py, fresh()?, "torch")
}

/// A new buffer as an array of NumPy.
#[pyfunction]
fn fresh_numpy(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_framework(py, fresh()?, "numpy")
}

/// A new buffer as an object of the argument's framework.
#[pyfunction]
fn fresh_like<'py>(x: In<'py>) -> PyResult<Like<'py>> {
    Ok(x.like(fresh()?))
}

/// Takes a tensor over, and gives it up again.
#[pyfunction]
fn import_one(x: Tensor) {
    drop(x);
}

/// Borrows a tensor.
#[pyfunction]
fn import_view(x: In<'_>) {
    drop(x);
}

/// What a call with three arguments costs that does nothing.
#[pyfunction]
fn nothing(_a: &Bound<'_, PyAny>, _b: &Bound<'_, PyAny>, _out: &Bound<'_, PyAny>) {}

#[pymodule]
mod dlbridge_bench {
    #[pymodule_export]
    use super::machine::{memcpy, peak_flops, peaks, stream};
    #[pymodule_export]
    use super::{
        add, add_released, add_strided, fresh_like, fresh_numpy, fresh_torch, import_one,
        import_view, nothing, sum16,
    };
}
