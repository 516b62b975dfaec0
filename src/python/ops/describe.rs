//! An op's definition as plain Python data, of which adapters of frameworks make their own
//! definitions.

mod rules;

use super::attribute;
use crate::dtype::DType;
use crate::kernel::{Attribute, ElementType, OpHandle, PartialShape};
use crate::python::PyDType;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Returns the definition as a dict. Its texts are those of the op's Rust definition.
///
/// | key | value |
/// |---|---|
/// | `name`, `aliases`, `doc`, `origin` | as in Rust |
/// | `inputs`, `outputs` | a dict each: `name`, `dtype` (a pair: `("is", dtype)`, `("variable", name)`, `("attribute", name)`, `("attribute_or", name, variable)`, `("attribute_or_sum", name, variable)` or `("any",)`), and of inputs `writes`, `optional` and `variadic` |
/// | `attributes` | a dict each: `name`, `kind`, `required`, `default` |
/// | `types` | the dtypes of each type variable, for which the CPU has kernels; `None` for any |
/// | `broadcasts`, `elementwise`, `batches` | as declared |
/// | `in_place` | pairs of an output's and an input's name that may share memory |
/// | `sizes` | alternatives: a pair of the inputs' items, by place, and the outputs'; `None` without a rule |
/// | `gradients` | by the input's name: the values for each alternative |
pub(super) fn describe<'py>(py: Python<'py>, handle: &OpHandle) -> PyResult<Bound<'py, PyDict>> {
    let op = handle.definition();
    let row = PyDict::new(py);
    row.set_item("name", op.name())?;
    row.set_item("aliases", op.aliases().collect::<Vec<_>>())?;
    row.set_item("doc", op.documentation())?;
    row.set_item("origin", handle.origin())?;
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (at, (name, reads, writes)) in op.parameters().enumerate() {
        let tensor = PyDict::new(py);
        tensor.set_item("name", name)?;
        tensor.set_item("dtype", element_type(py, op.element_type(at))?)?;
        if reads {
            tensor.set_item("writes", writes)?;
            tensor.set_item("optional", op.is_optional(at))?;
            tensor.set_item("variadic", op.variadic() == Some(at))?;
            inputs.push(tensor);
        } else {
            outputs.push(tensor);
        }
    }
    row.set_item("inputs", inputs)?;
    row.set_item("outputs", outputs)?;
    let mut attributes = Vec::new();
    for (name, kind, default) in op.attributes() {
        let attribute = PyDict::new(py);
        attribute.set_item("name", name)?;
        attribute.set_item("kind", kind.name())?;
        attribute.set_item("required", default.is_none())?;
        attribute.set_item(
            "default",
            default
                .map(|default| attribute::object(py, default))
                .transpose()?,
        )?;
        attributes.push(attribute);
    }
    row.set_item("attributes", attributes)?;
    row.set_item("types", types(py, handle)?)?;
    row.set_item("broadcasts", op.is_broadcasting())?;
    row.set_item("elementwise", op.is_elementwise())?;
    row.set_item("batches", op.takes_batches())?;
    row.set_item("in_place", op.in_place_pairs().collect::<Vec<_>>())?;
    row.set_item("sizes", rules::sizes(py, op)?)?;
    row.set_item("gradients", rules::gradients(py, op)?)?;
    Ok(row)
}

fn element_type(py: Python<'_>, kind: ElementType) -> PyResult<Bound<'_, PyTuple>> {
    match kind {
        ElementType::Any => PyTuple::new(py, ["any"]),
        ElementType::Is(dtype) => ("is", PyDType(dtype)).into_pyobject(py),
        ElementType::Variable(name) => PyTuple::new(py, ["variable", &name]),
        ElementType::Attribute(name) => PyTuple::new(py, ["attribute", &name]),
        ElementType::AttributeOr {
            attribute,
            variable,
        } => PyTuple::new(py, ["attribute_or", &attribute, &variable]),
        ElementType::AttributeOrSum {
            attribute,
            variable,
        } => PyTuple::new(py, ["attribute_or_sum", &attribute, &variable]),
    }
}

/// Returns the dtypes of each type variable that the kernels of the CPU have.
fn types<'py>(py: Python<'py>, handle: &OpHandle) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let kernels = handle.kernels();
    let usual = kernels.iter().filter(|kernel| {
        kernel.device == crate::device::DeviceKind::Cpu && kernel.label.is_empty()
    });
    let mut any = Vec::new();
    for kernel in usual {
        for (variable, types) in &kernel.types {
            if types.is_empty() {
                any.push(variable.clone());
            }
            let known = all.get_item(variable)?;
            let mut known: Vec<DType> = match &known {
                Some(known) => known.extract()?,
                None => Vec::new(),
            };
            known.extend(
                types
                    .iter()
                    .filter(|dtype| !known.contains(dtype))
                    .copied()
                    .collect::<Vec<_>>(),
            );
            let known: Vec<_> = known.into_iter().map(PyDType).collect();
            all.set_item(variable, known)?;
        }
    }
    for variable in any {
        all.set_item(variable, py.None())?;
    }
    Ok(all)
}

/// Returns the attributes of a call, all of them, from those that a dict has.
pub(super) fn attributes(handle: &OpHandle, given: &Bound<'_, PyDict>) -> PyResult<Vec<Attribute>> {
    let mut values = Vec::new();
    for (name, found) in given {
        let name: String = name.extract()?;
        let mut known = handle.definition().attributes();
        let Some((_, kind, _)) = known.find(|(known, ..)| *known == name) else {
            values.push((name, Attribute::Bool(false))); // Which is refused below.
            continue;
        };
        let Some(value) = attribute::attribute(found.as_borrowed(), kind)? else {
            return Err(attribute::of_kind(
                handle.name(),
                &name,
                kind,
                found.as_borrowed(),
            ));
        };
        values.push((name, value));
    }
    Ok(handle.attributes(values)?)
}

/// Returns the values of [`attributes`] as objects of Python, by name.
pub(super) fn read<'py>(
    handle: &OpHandle,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let (py, read) = (given.py(), PyDict::new(given.py()));
    let names = handle.definition().attributes().map(|(name, ..)| name);
    for (name, value) in names.zip(attributes(handle, given)?) {
        read.set_item(name, attribute::object(py, &value)?)?;
    }
    Ok(read)
}

/// A shape and a dtype.
type Described = (Vec<usize>, DType);

/// Returns the shapes and dtypes of results: see [`OpHandle::infer`].
pub(super) fn infer(
    handle: &OpHandle,
    inputs: &[Vec<Described>],
    given: &Bound<'_, PyDict>,
) -> PyResult<Vec<(Vec<usize>, PyDType)>> {
    let attributes = attributes(handle, given)?;
    let inputs: Vec<Vec<_>> = inputs
        .iter()
        .map(|tensors| {
            tensors
                .iter()
                .map(|(shape, dtype)| (&shape[..], *dtype))
                .collect()
        })
        .collect();
    let results = handle.infer(&inputs, &attributes)?;
    Ok(results
        .into_iter()
        .map(|(shape, dtype)| (shape, PyDType(dtype)))
        .collect())
}

/// Returns the shapes, as far as they are known, and dtypes of the results of a call.
pub(super) fn infer_partial(
    handle: &OpHandle,
    inputs: &[Vec<(PartialShape, DType)>],
    given: &Bound<'_, PyDict>,
) -> PyResult<Vec<(PartialShape, PyDType)>> {
    let attributes = attributes(handle, given)?;
    let results = handle.infer_partial(inputs, &attributes)?;
    let results = results.into_iter();
    Ok(results
        .map(|(shape, dtype)| (shape, PyDType(dtype)))
        .collect())
}

/// Checks that there is a kernel for a call on the CPU.
pub(super) fn check_kernel(
    handle: &OpHandle,
    arguments: &[Vec<(usize, DType)>],
    given: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let attributes = attributes(handle, given)?;
    Ok(handle.check_kernel(arguments, &attributes)?)
}
