//! The functions that are compared with those of other libraries.

use dlbridge::python::{In, Like, Out};
use pyo3::prelude::*;

// ANCHOR: add
/// Writes the sum of two tensors into a third.
#[pyfunction]
pub fn add(a: In<'_, f32>, b: In<'_, f32>, mut out: Out<'_, f32>) -> PyResult<()> {
    a.check_shape(out.shape())?;
    b.check_shape(out.shape())?;
    let (a, b) = (a.view(), b.view());
    for ((out, a), b) in out.view_mut().iter_mut().zip(&a).zip(&b) {
        *out = a + b;
    }
    Ok(())
}
// ANCHOR_END: add

// ANCHOR: scaled
/// A new tensor: `x` times `factor`.
#[pyfunction]
pub fn scaled<'py>(x: In<'py, f32>, factor: f32) -> PyResult<Like<'py>> {
    let mut out = x.zeros_like::<f32>(x.shape())?;
    for (out, x) in out.view_mut()?.iter_mut().zip(x.view()) {
        *out = x * factor;
    }
    Ok(x.like(out))
}
// ANCHOR_END: scaled
