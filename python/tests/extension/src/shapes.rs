//! Shapes that are expected, results that functions fill, and copy on write.

use dlbridge::Tensor;
use dlbridge::half::bf16;
use dlbridge::layout::{Axis, Sizes};
use dlbridge::python::{In, Like, Out};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

register!(
    image_sizes,
    square,
    linear,
    rotary_shapes,
    outer,
    count_like,
    is_large,
    fresh_from_out,
    supports,
);

#[pyfunction]
fn image_sizes(x: In<'_, u8, 3>) -> [usize; 3] {
    x.sizes()
}

#[pyfunction]
fn square(x: In<'_, f32>) -> PyResult<usize> {
    let [n, _] = x.expect(["n", "n"])?;
    Ok(n)
}

/// Wildcards and sizes.
#[pyfunction]
fn linear(x: In<'_, f32>, weight: Out<'_, f32>, bias: In<'_, f32>) -> PyResult<[usize; 2]> {
    let [rows, features] = x.expect([None, None])?;
    let [_, outputs] = weight.expect([Some(features), None])?;
    bias.expect([Axis::Size(outputs), Axis::Any])?;
    Ok([rows, outputs])
}

#[pyfunction]
fn rotary_shapes(x: In<'_, f32>, cos: In<'_, f32>, sin: In<'_, f32>) -> PyResult<[usize; 4]> {
    let mut sizes = Sizes::new();
    let shape = sizes.expect("x", &x, ["b", "t", "h", "d"])?;
    sizes.expect("cos", &cos, ["t", "d"])?;
    sizes.expect("sin", &sin, ["t", "d"])?;
    Ok(shape)
}

#[pyfunction]
fn outer<'py>(x: In<'py, f32, 1>, y: In<'py, f32, 1>) -> PyResult<Like<'py>> {
    let (a, b) = (x.view(), y.view());
    x.like_from_fn([a.len(), b.len()], |[i, j]| a[[i]] * b[[j]])
}

/// 0, 1, 2, and so on, `count` of them.
#[pyfunction]
fn count_like<'py>(x: In<'py>, shape: Vec<usize>, count: i64) -> PyResult<Like<'py>> {
    x.like_from_iter(&shape, (0..count).map(|i| i as f32))
}

#[pyfunction]
fn is_large<'py>(x: In<'py, f32>, limit: f32) -> PyResult<Like<'py>> {
    x.map_like(|x| x > limit)
}

#[pyfunction]
fn fresh_from_out<'py>(x: Out<'py, f32>) -> PyResult<Like<'py>> {
    x.map_like(|x| -x)
}

#[pyfunction]
fn supports(x: In<'_>, dtype: &str) -> PyResult<bool> {
    match dtype {
        "int64" => x.supports::<i64>(),
        "float32" => x.supports::<f32>(),
        "bfloat16" => x.supports::<bf16>(),
        "uint16" => x.supports::<u16>(),
        "float8_e4m3fn" => x.supports::<dlbridge::dtype::F8E4M3Fn>(),
        _ => Err(PyValueError::new_err("a dtype that isn't tried")),
    }
}

/// Sums that are lent, and go on.
#[pyclass]
struct Totals(Tensor);

#[pymethods]
impl Totals {
    #[new]
    fn new(size: usize) -> PyResult<Self> {
        Ok(Self(Tensor::zeros(&[size], dlbridge::DType::F32)?))
    }

    fn add(&mut self, x: In<'_, f32, 1>) -> PyResult<()> {
        x.check_shape(self.0.shape())?;
        let totals = self.0.make_mut::<f32>()?;
        totals
            .into_iter()
            .zip(x.view())
            .for_each(|(total, x)| *total += x);
        Ok(())
    }

    fn lend<'py>(&self, like: In<'py>) -> Like<'py> {
        like.like(self.0.clone())
    }

    fn tensor(&self) -> Tensor {
        self.0.clone()
    }

    fn address(&self) -> usize {
        self.0.data_ptr().addr()
    }

    /// Without a copy.
    fn add_in_place(&mut self, value: f32) -> PyResult<()> {
        self.0
            .view_mut::<f32>()?
            .iter_mut()
            .for_each(|total| *total += value);
        Ok(())
    }
}

pub(crate) fn register_class(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Totals>()
}
