//! Five functions as extensions have them: a norm, a rotary embedding in place, the largest
//! elements of rows, a dict of tensors, and a class with a state.

use dlbridge::python::{Dict, In, Like, OneOf, Out, Owned, detach};
use dlbridge::{Float, Number, Tensor, dispatch, half::bf16, view::Line};
use pyo3::prelude::*;

// ANCHOR: layer_norm
type Floats<'py, const RANK: usize> = In<'py, OneOf<(f32, bf16)>, RANK>;

/// Layer norm along the last axis, calculated in float32.
#[pyfunction]
pub fn layer_norm<'py>(
    x: Floats<'py, 2>,
    weight: Floats<'py, 1>,
    bias: Floats<'py, 1>,
    eps: f32,
) -> PyResult<Like<'py>> {
    let [_, d] = x.sizes();
    weight.expect([d]).and(bias.expect([d]))?;
    dispatch!((x, weight, bias), T in (f32, bf16) => {
        let (view, weight, bias) = (x.view(), weight.view(), bias.view());
        let normalized = view.lines(1).flat_map(|row| normalized(row, eps).zip(weight).zip(bias));
        let affine = |((x, w), b): ((f32, &T), &T)| T::from_f32(x * w.to_f32() + b.to_f32());
        x.like_from_iter(view.shape(), normalized.map(affine))
    })
}

fn normalized<T: Float>(row: Line<'_, T>, eps: f32) -> impl Iterator<Item = f32> {
    let n = row.len() as f32;
    let mean = row.iter().map(|x| x.to_f32()).sum::<f32>() / n;
    let variance = row.iter().map(|x| (x.to_f32() - mean).powi(2)).sum::<f32>() / n;
    let scale = 1.0 / (variance + eps).sqrt();
    row.into_iter().map(move |x| (x.to_f32() - mean) * scale)
}
// ANCHOR_END: layer_norm

// ANCHOR: rotary
/// Rotates pairs of `x`, of any strides, in place: batch, time, heads, features.
#[pyfunction]
pub fn rotary_(mut x: Out<'_, f32, 4>, cos: In<'_, f32, 2>, sin: In<'_, f32, 2>) -> PyResult<()> {
    let [_, t, _, d] = x.sizes();
    x.expect([None, None, None, Some(d / 2 * 2)])?;
    cos.expect([t, d / 2]).and(sin.expect([t, d / 2]))?;
    let mut x = x.ranked_mut();
    let (mut a, mut b) = x.split_at_mut(3, d / 2);
    for ((t, cos), sin) in (0..t).zip(cos.rows()).zip(sin.rows()) {
        let (mut a, mut b) = (a.select_mut(1, t), b.select_mut(1, t));
        for (a, b) in a.rows_mut().zip(b.rows_mut()) {
            for (((a, b), cos), sin) in a.into_iter().zip(b).zip(cos).zip(sin) {
                (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
            }
        }
    }
    Ok(())
}
// ANCHOR_END: rotary

// ANCHOR: topk
/// The largest elements of each row, and where they are, in order.
#[pyfunction]
pub fn topk<'py>(x: In<'py, f32, 2>, k: usize) -> PyResult<(Like<'py>, Like<'py>)> {
    let [rows, _] = x.sizes();
    let largest = x.rows().flat_map(|row| {
        let mut pairs: Vec<_> = row.iter().copied().zip(0_i32..).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        pairs.into_iter().take(k)
    });
    let (values, indices): (Vec<f32>, Vec<i32>) = largest.unzip();
    let values = x.like_from_iter(&[rows, k], values)?;
    Ok((values, x.like_from_iter(&[rows, k], indices)?))
}
// ANCHOR_END: topk

// ANCHOR: clip
/// Scales gradients in place so that the norm of all is at most `most`, and returns their norm.
#[pyfunction]
pub fn clip_(py: Python<'_>, mut gradients: Dict<Out<'_, f32>>, most: f32) -> PyResult<f32> {
    detach(py, &mut gradients, |mut gradients| {
        let numbers = gradients.values().flat_map(|x| x.iter());
        let norm = numbers.map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32;
        for x in gradients.values_mut().flatten() {
            *x *= if norm > most { most / norm } else { 1.0 };
        }
        norm
    })
}
// ANCHOR_END: clip

// ANCHOR: average
/// A moving average of tensors.
#[pyclass]
pub struct Average(Tensor);

#[pymethods]
impl Average {
    /// Keeps a first value, without copying it.
    #[new]
    fn new(x: Owned<f32>) -> Self {
        Self(x.into_tensor())
    }

    /// Moves the average towards `x`. What was lent before stays as it is.
    fn update(&mut self, x: In<'_, f32>, weight: f32) -> PyResult<()> {
        x.check_shape(self.0.shape())?;
        let elements = self.0.make_mut::<f32>()?.into_iter().zip(x.view());
        elements.for_each(|(mean, x)| *mean += weight * (x - *mean));
        Ok(())
    }

    /// Lends the average, without a copy, as a tensor of the framework of `like`.
    fn value<'py>(&self, like: In<'py>) -> Like<'py> {
        like.like(self.0.clone())
    }
}
// ANCHOR_END: average
