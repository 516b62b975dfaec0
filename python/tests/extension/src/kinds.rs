//! Ranks, arrangements, devices, and arguments inside others.

use dlbridge::python::{
    ANY_RANK, Any, AnyDevice, ColumnMajor, Cuda, Dense, Host, In, Out, Owned, RowMajor, Strided,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

register!(
    describe,
    describe_out,
    rank_0,
    rank_1,
    rank_2,
    row_major,
    row_major_out,
    column_major,
    dense,
    any_device,
    any_on_host,
    on_cuda,
    optional,
    many,
    named,
    pair,
    fill_all,
    sum_into,
    same_object,
    has_shape,
    debug,
    bool_shape,
    own_bool_shape,
);

macro_rules! facts {
    ($py:expr, $x:expr) => {{
        let facts = PyDict::new($py);
        facts.set_item("ptr", $x.data_ptr().addr())?;
        facts.set_item("shape", $x.shape().to_vec())?;
        facts.set_item("strides", $x.strides().to_vec())?;
        facts.set_item("dtype", $x.dtype().to_string())?;
        facts.set_item("device", $x.device().to_string())?;
        facts.set_item("readonly", $x.is_read_only())?;
        facts.set_item("padded", $x.is_padded())?;
        facts
    }};
}
pub(crate) use facts;

#[pyfunction]
fn describe<'py>(py: Python<'py>, x: In<'py>) -> PyResult<Bound<'py, PyDict>> {
    Ok(facts!(py, x))
}

#[pyfunction]
fn describe_out<'py>(py: Python<'py>, out: Out<'py>) -> PyResult<Bound<'py, PyDict>> {
    Ok(facts!(py, out))
}

#[pyfunction]
fn rank_0(x: In<'_, f32, 0>) -> f32 {
    x.view()[[]]
}

#[pyfunction]
fn rank_1(x: In<'_, f32, 1>) -> usize {
    x.len()
}

#[pyfunction]
fn rank_2(x: In<'_, f32, 2>) -> f32 {
    let x = x.view();
    (0..x.shape()[0].min(x.shape()[1])).map(|i| x[[i, i]]).sum()
}

#[pyfunction]
fn row_major(x: In<'_, f32, ANY_RANK, RowMajor>) -> Vec<f32> {
    x.as_slice().to_vec()
}

#[pyfunction]
fn row_major_out(mut out: Out<'_, f32, ANY_RANK, RowMajor>) {
    out.as_mut_slice().iter_mut().for_each(|x| *x += 1.0);
}

#[pyfunction]
fn column_major(x: In<'_, f32, 2, ColumnMajor>) -> Vec<f32> {
    x.view().to_vec()
}

#[pyfunction]
fn dense(x: In<'_, f32, ANY_RANK, Dense>) -> Vec<f32> {
    x.view().to_vec()
}

#[pyfunction]
fn any_device(x: In<'_, f32, ANY_RANK, Strided, AnyDevice>) -> String {
    x.device().to_string()
}

#[pyfunction]
fn any_on_host(x: In<'_, Any, ANY_RANK, Strided, Host>) -> usize {
    x.len()
}

#[pyfunction]
fn on_cuda(x: In<'_, Any, ANY_RANK, Strided, Cuda>) -> usize {
    x.len()
}

fn sum(x: &In<'_, f32>) -> f32 {
    x.view().iter().sum()
}

#[pyfunction]
#[pyo3(signature = (x=None))]
fn optional(x: Option<In<'_, f32>>) -> Option<f32> {
    x.as_ref().map(sum)
}

#[pyfunction]
fn many(xs: Vec<In<'_, f32>>) -> Vec<f32> {
    xs.iter().map(sum).collect()
}

#[pyfunction]
fn named(xs: HashMap<String, In<'_, f32>>) -> HashMap<String, f32> {
    xs.iter().map(|(name, x)| (name.clone(), sum(x))).collect()
}

#[pyfunction]
fn pair(xs: (In<'_, f32>, Out<'_, f32>)) -> PyResult<()> {
    let (x, mut out) = xs;
    add_up(vec![x], &mut out)
}

#[pyfunction]
fn fill_all(mut outs: Vec<Out<'_, f32>>, value: f32) {
    outs.iter_mut().for_each(|out| out.view_mut().fill(value));
}

#[pyfunction]
fn sum_into(xs: Vec<In<'_, f32>>, mut out: Out<'_, f32>) -> PyResult<()> {
    add_up(xs, &mut out)
}

/// Adds inputs of the output's shape up.
fn add_up(xs: Vec<In<'_, f32>>, out: &mut Out<'_, f32>) -> PyResult<()> {
    xs.iter().try_for_each(|x| x.check_shape(out.shape()))?;
    out.view_mut().fill(0.0);
    for x in &xs {
        let x = x.view();
        for (out, x) in out.view_mut().iter_mut().zip(&x) {
            *out += x;
        }
    }
    Ok(())
}

#[pyfunction]
fn same_object(py: Python<'_>, x: In<'_>, object: &Bound<'_, PyAny>) -> bool {
    x.object(py).is_some_and(|x| x.is(object))
}

#[pyfunction]
fn has_shape(x: In<'_>, shape: Vec<usize>) -> PyResult<()> {
    x.check_shape(&shape)
}

#[pyfunction]
fn debug(x: In<'_>) -> String {
    format!("{x:?}")
}

/// The shape of a tensor of which all bytes are `bool`s.
#[pyfunction]
fn bool_shape(x: In<'_, bool>) -> Vec<usize> {
    x.view().shape().to_vec()
}

#[pyfunction]
fn own_bool_shape(x: Owned<bool>) -> PyResult<Vec<usize>> {
    Ok(x.view::<bool>()?.shape().to_vec())
}
