//! `asarray`: a tensor of whatever there is.

use crate::make::{cast, check_device, number, settled, type_of};
use dlbridge::dlpack::python::intern;
use dlbridge::dtype::Scalar;
use dlbridge::error::{Incompatibility, IncompatibilityKind};
use dlbridge::python::package::{is_no_tensor, raise, scalar, wrong_argument, wrong_value};
use dlbridge::python::{PyTensor, Wanted, to_device};
use dlbridge::{DType, Device, Tensor};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

/// A tensor of anything: a number, numbers in lists, a framework's tensor, a buffer, or an object
/// with `__array_interface__`. Memory is shared where that is possible and `copy` isn't True.
///
/// Without `dtype`, Python's numbers become what they do in NumPy: bool, int64, float64 or
/// complex128; integers that no such dtype has all of are refused. A tensor keeps its own dtype.
#[pyfunction]
#[pyo3(signature = (x, dtype=None, *, device=None, copy=None))]
pub(super) fn asarray<'py>(
    x: &Bound<'py, PyAny>,
    dtype: Option<DType>,
    device: Option<Device>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyTensor>> {
    let py = x.py();
    if let Some(number) = scalar(x)? {
        check_device(device)?;
        check_copy(copy)?;
        let dtype = dtype.unwrap_or_else(|| type_of(number));
        return settled(Tensor::full_of(&[], dtype, number)?, device)?.into_pyobject(py);
    }
    if x.is_instance_of::<PyList>() || x.is_instance_of::<PyTuple>() {
        check_device(device)?;
        check_copy(copy)?;
        return settled(nested(x, dtype)?, device)?.into_pyobject(py);
    }
    let wanted = Wanted { copy, device };
    let tensor = match PyTensor::from_object(x, wanted) {
        Ok(tensor) => tensor,
        Err(error) if is_no_tensor(py, &error) => {
            let array = by_interface(x, copy)?.ok_or(error)?;
            PyTensor::from_object(&array, wanted)?
        }
        Err(error) => return Err(error),
    };
    match dtype {
        Some(dtype) if dtype != tensor.get().element_type() => {
            check_copy(copy)?;
            let tensor = tensor.get().tensor(py)?;
            let cast = cast(&to_device(&tensor, Device::CPU)?, dtype)?;
            to_device(&cast, tensor.device())?.into_pyobject(py)
        }
        _ => Ok(tensor),
    }
}

fn check_copy(copy: Option<bool>) -> PyResult<()> {
    if copy == Some(false) {
        let error = Incompatibility::new(IncompatibilityKind::Copy, "copy=False", "copy=None");
        return Err(raise::<PyBufferError>(
            error
                .with_reason("elements of another dtype, or of Python objects, need a copy, which copy=False forbids")
                .with_remedy("pass copy=None"),
        ));
    }
    Ok(())
}

/// An array of what has NumPy's older protocol; NumPy knows best how to read it.
fn by_interface<'py>(
    x: &Bound<'py, PyAny>,
    copy: Option<bool>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = x.py();
    // Where NumPy looks for them.
    let has_interface = || x.hasattr(intern!(py, "__array_interface__"));
    let has_method = || x.get_type().hasattr(intern!(py, "__array__"));
    if x.is_instance_of::<PyType>() || !has_interface()? && !has_method()? {
        return Ok(None);
    }
    let numpy = py.import(intern!(py, "numpy"))?;
    let keywords = PyDict::new(py);
    if copy == Some(false) {
        keywords.set_item(intern!(py, "copy"), false)?;
    }
    let array = numpy.call_method(intern!(py, "asarray"), (x,), Some(&keywords))?;
    Ok(Some(array))
}

/// A tensor of numbers in lists of lists, all of one length on each level.
fn nested(x: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let mut shape = Vec::new();
    let mut numbers = Vec::new();
    collect(x, 0, &mut shape, &mut numbers)?;
    let dtype = dtype.unwrap_or_else(|| common_type(&numbers));
    Ok(Tensor::from_scalars(&shape, dtype, numbers)?)
}

/// How deep lists may be; more would be a list in itself.
const DEEPEST: usize = 64;

fn collect(
    x: &Bound<'_, PyAny>,
    depth: usize,
    shape: &mut Vec<usize>,
    numbers: &mut Vec<Scalar>,
) -> PyResult<()> {
    let is_list = x.is_instance_of::<PyList>() || x.is_instance_of::<PyTuple>();
    if !is_list {
        let number = number(x).map_err(|error| {
            let what = x.get_type().fully_qualified_name();
            match what {
                Ok(what) if error.is_instance_of::<PyTypeError>(x.py()) => {
                    let reason = format!("expected numbers in the list, got {what}");
                    wrong_argument(what.to_string(), "a number", reason)
                }
                _ => error,
            }
        })?;
        if depth != shape.len() {
            return Err(ragged());
        }
        numbers.push(number);
        return Ok(());
    }
    let len = x.len()?;
    if depth == DEEPEST {
        let reason = format!("the lists are in more than {DEEPEST} others");
        return Err(wrong_value(
            "lists",
            format!("at most {DEEPEST} dimensions"),
            reason,
        ));
    }
    // The first way down says what the shape is.
    if depth == shape.len() && numbers.is_empty() {
        shape.push(len);
    } else if shape.get(depth) != Some(&len) {
        return Err(ragged());
    }
    for inner in x.try_iter()? {
        collect(&inner?, depth + 1, shape, numbers)?;
    }
    Ok(())
}

fn ragged() -> PyErr {
    let error = Incompatibility::new(
        IncompatibilityKind::Shape,
        "ragged lists",
        "lists of equal lengths",
    );
    raise::<PyValueError>(
        error.with_reason("the lists are not all of one length, or not all as deep"),
    )
}

/// The first type that holds all of them, as NumPy has it.
fn common_type(numbers: &[Scalar]) -> DType {
    let has = |test: fn(&Scalar) -> bool| numbers.iter().any(test);
    if numbers.is_empty() || has(|n| matches!(n, Scalar::Float(_))) {
        if has(|n| matches!(n, Scalar::Complex(..))) {
            return DType::C128;
        }
        return DType::F64;
    }
    if has(|n| matches!(n, Scalar::Complex(..))) {
        DType::C128
    } else if has(|n| matches!(n, Scalar::Int(_))) {
        let is_large = |n: &Scalar| matches!(n, Scalar::Int(value) if *value > i64::MAX.into());
        if has(is_large) {
            DType::U64
        } else {
            DType::I64
        }
    } else {
        DType::BOOL
    }
}
