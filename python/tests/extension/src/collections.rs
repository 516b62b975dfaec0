//! Collections of arguments, and detaching from them.

use dlbridge::dispatch;
use dlbridge::python::{Dict, In, List, OneOf, OrNumber, Out, detach};
use pyo3::prelude::*;
use std::collections::HashMap;

register!(
    list_sums,
    nested_sums,
    dict_sums,
    fill_list,
    vec_sums,
    all_shapes_detached,
    fill_all_detached,
);

#[pyfunction]
fn list_sums(tensors: List<In<'_, f32>>) -> Vec<f32> {
    tensors.iter().map(|x| x.view().iter().sum()).collect()
}

#[pyfunction]
fn nested_sums(tensors: List<List<In<'_, f32>>>) -> Vec<Vec<f32>> {
    let sums = |list: List<In<'_, f32>>| list_sums(list);
    tensors.into_iter().map(sums).collect()
}

#[pyfunction]
fn dict_sums(weights: Dict<In<'_, f32>>) -> HashMap<String, f32> {
    let sums = weights.iter();
    sums.map(|(name, x)| (name.clone(), x.view().iter().sum()))
        .collect()
}

#[pyfunction]
fn fill_list(mut outs: List<Out<'_, f32>>, value: f32) {
    for out in &mut outs {
        out.view_mut().fill(value);
    }
}

/// PyO3's own.
#[pyfunction]
fn vec_sums(tensors: Vec<In<'_, f32>>) -> Vec<f32> {
    list_sums(tensors.into_iter().collect())
}

type Either<'py> = In<'py, OneOf<(f32, i64)>>;

/// The sum of all, without the GIL.
#[pyfunction]
#[pyo3(signature = (many, pair, named, dict, number, either, nested, maybe=None))]
#[expect(clippy::too_many_arguments, reason = "one of each shape")]
fn all_shapes_detached<'py>(
    py: Python<'py>,
    mut many: Vec<In<'py, f32>>,
    mut pair: [In<'py, f32>; 2],
    mut named: HashMap<String, In<'py, f32>>,
    mut dict: Dict<In<'py, f32>>,
    mut number: OrNumber<'py, f32>,
    mut either: Vec<Either<'py>>,
    mut nested: List<(In<'py, f32>, Option<In<'py, f32>>)>,
    mut maybe: Option<In<'py, f32>>,
) -> PyResult<f64> {
    let arguments = (
        (&mut many, &mut pair),
        (&mut named, &mut dict),
        (&mut number, &mut either),
        &mut nested,
        &mut maybe,
    );
    detach(py, arguments, |arguments| {
        let ((many, pair), (named, dict), (number, either), nested, maybe) = arguments;
        let floats = many.into_iter().chain(pair).chain(named.into_values());
        let floats = floats
            .chain(dict.into_values())
            .chain([number])
            .chain(maybe);
        let nested = nested.into_iter();
        let floats = floats.chain(nested.flat_map(|(one, other)| [one].into_iter().chain(other)));
        let sum: f64 = floats.map(|x| f64::from(x.iter().sum::<f32>())).sum();
        let either = either.into_iter();
        let either: f64 = either
            .map(|x| -> f64 { dispatch!(x => x.iter().map(|x| *x as f64).sum()) })
            .sum();
        sum + either
    })
}

#[pyfunction]
fn fill_all_detached(
    py: Python<'_>,
    mut outs: List<Out<'_, f32>>,
    mut other: Option<Out<'_, f32>>,
    value: f32,
) -> PyResult<()> {
    detach(py, (&mut outs, &mut other), |(outs, other)| {
        outs.into_iter()
            .chain(other)
            .for_each(|mut out| out.fill(value));
    })
}
