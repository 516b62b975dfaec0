//! Rules of sizes and gradients as Python data: nested tuples.

use crate::kernel::{GradientAttribute, GradientValue, Op, SizeExpression, SizeItem};
use crate::python::ops::attribute::object;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// Returns the rule of sizes: for each alternative a pair of a dict, from an input's place to its
/// items, and a list of the outputs' items. An item is `("batch",)`, `("spread", name)`,
/// `("axis", size, attribute)`, `("reduce", spread, axis, keepdims)` or `("size", expression)`;
/// an expression is a number, `("name", name)`, `("attribute", name)`, `("sum", name)`, or
/// `(mark, left, right)`.
pub(super) fn sizes<'py>(py: Python<'py>, op: &Op) -> PyResult<Bound<'py, PyAny>> {
    let Some(rule) = op.size_rule() else {
        return Ok(py.None().into_bound(py));
    };
    let alternatives = PyList::empty(py);
    for alternative in &rule.alternatives {
        let inputs = PyDict::new(py);
        for (at, items) in &alternative.inputs {
            inputs.set_item(at, list(py, items)?)?;
        }
        let outputs = alternative.outputs.iter().map(|items| list(py, items));
        let outputs = PyList::new(py, outputs.collect::<PyResult<Vec<_>>>()?)?;
        alternatives.append((inputs, outputs))?;
    }
    Ok(alternatives.into_any())
}

fn list<'py>(py: Python<'py>, items: &[SizeItem]) -> PyResult<Bound<'py, PyList>> {
    let items = items.iter().map(|item| match item {
        SizeItem::Batch => ("batch",).into_bound_py_any(py),
        SizeItem::Spread(name) => ("spread", name).into_bound_py_any(py),
        SizeItem::Axis { size, attribute } => ("axis", size, attribute).into_bound_py_any(py),
        SizeItem::Reduced {
            spread,
            axis,
            keepdims,
        } => ("reduce", spread, axis, keepdims).into_bound_py_any(py),
        SizeItem::Size(size) => ("size", expression(py, size)?).into_bound_py_any(py),
    });
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

fn expression<'py>(py: Python<'py>, size: &SizeExpression) -> PyResult<Bound<'py, PyAny>> {
    match size {
        SizeExpression::Number(number) => number.into_bound_py_any(py),
        SizeExpression::Name(name) => ("name", name).into_bound_py_any(py),
        SizeExpression::Attribute(name) => ("attribute", name).into_bound_py_any(py),
        SizeExpression::Sum(name) => ("sum", name).into_bound_py_any(py),
        SizeExpression::Joined(mark, left, right) => {
            let (left, right) = (expression(py, left)?, expression(py, right)?);
            (mark.to_string(), left, right).into_bound_py_any(py)
        }
    }
}

/// Returns the gradients: from an input's name to its values, one for each alternative of the rule
/// of sizes or one for all. A value is `("zero",)`, `("input", place)`, `("output", place)`,
/// `("gradient", place)`, where outputs are counted among the written tensors of the op, as results
/// of calls, or `("call", op, inputs, attributes)`, of which the attributes are pairs of a name and
/// `("same", name)`, `("is", value)`, or `("dtype", value)` of a tensor.
pub(super) fn gradients<'py>(py: Python<'py>, op: &Op) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for gradient in op.gradients() {
        let name = op.parameters().nth(gradient.input).map(|(name, ..)| name);
        let values = gradient.values.iter().map(|value| tuple(py, op, value));
        let values = PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?;
        all.set_item(name, values)?;
    }
    Ok(all)
}

/// Returns a tensor by its place among the parameters.
fn argument<'py>(py: Python<'py>, op: &Op, at: usize) -> PyResult<Bound<'py, PyTuple>> {
    match at.checked_sub(op.given()) {
        None => ("input", at).into_pyobject(py),
        Some(_) => ("output", result(op, at)).into_pyobject(py),
    }
}

/// Returns the place of a written tensor among the results of a call.
fn result(op: &Op, at: usize) -> usize {
    (0..at).filter(|at| op.writes(*at)).count()
}

fn tuple<'py>(py: Python<'py>, op: &Op, from: &GradientValue) -> PyResult<Bound<'py, PyTuple>> {
    match from {
        GradientValue::Zero => PyTuple::new(py, ["zero"]),
        GradientValue::Argument(at) => argument(py, op, *at),
        GradientValue::OutputGradient(at) => ("gradient", result(op, *at)).into_pyobject(py),
        GradientValue::Call {
            op: called,
            inputs,
            attributes,
        } => {
            let inputs = inputs.iter().map(|input| tuple(py, op, input));
            let inputs = PyTuple::new(py, inputs.collect::<PyResult<Vec<_>>>()?)?;
            let attributes = attributes.iter().map(|(name, attribute)| {
                let attribute = match attribute {
                    GradientAttribute::Same(name) => ("same", name).into_pyobject(py)?,
                    GradientAttribute::Is(is) => ("is", object(py, is)?).into_pyobject(py)?,
                    GradientAttribute::DTypeOf(at) => {
                        ("dtype", argument(py, op, *at)?).into_pyobject(py)?
                    }
                };
                (name, attribute).into_pyobject(py)
            });
            let attributes = PyTuple::new(py, attributes.collect::<PyResult<Vec<_>>>()?)?;
            ("call", called, inputs, attributes).into_pyobject(py)
        }
        GradientValue::Choice {
            input,
            given,
            otherwise,
        } => {
            let (given, otherwise) = (tuple(py, op, given)?, tuple(py, op, otherwise)?);
            ("choice", argument(py, op, *input)?, given, otherwise).into_pyobject(py)
        }
    }
}
