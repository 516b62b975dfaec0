//! Python objects as attributes' values.

use crate::kernel::{Attribute, AttributeKind};
use crate::python::PyDType;
use crate::python::dtype_and_device::is_at_hand;
use crate::python::error::{is_final, wrong_argument};
use crate::python::items::Items;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

/// Returns whether reading a value as an attribute makes no object.
#[inline]
pub(super) fn is_plain(value: Borrowed<'_, '_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyString>()
        || is_at_hand(value)
}

/// Returns a value in Rust; `None` if it is of another kind.
///
/// # Errors
///
/// What code that reads the value raises, if it [is final](is_final).
pub(super) fn read<'a, 'py, T: FromPyObject<'a, 'py>>(
    value: Borrowed<'a, 'py, PyAny>,
) -> PyResult<Option<T>> {
    value.extract::<T>().map(Some).or_else(|error| {
        let error: PyErr = error.into();
        match is_final(value.py(), &error) {
            true => Err(error),
            false => Ok(None),
        }
    })
}

/// Returns an object as a value of an attribute; `None` if it has another kind.
///
/// # Errors
///
/// The same as for [`read`].
pub(super) fn attribute(
    value: Borrowed<'_, '_, PyAny>,
    kind: AttributeKind,
) -> PyResult<Option<Attribute>> {
    // `True` is an `int` for Python, and seldom meant as one.
    let is_bool = value.is_instance_of::<PyBool>();
    let int = || match is_bool {
        true => Ok(None),
        false => read::<i64>(value),
    };
    Ok(match kind {
        AttributeKind::Bool => read(value)?.map(Attribute::Bool),
        AttributeKind::Int => int()?.map(Attribute::Int),
        // Of a whole number it is to be told whether it is one that floats have.
        AttributeKind::Float if value.is_instance_of::<PyInt>() => {
            int()?.and_then(|int| Attribute::Int(int).converted(kind))
        }
        AttributeKind::Float => read(value)?.map(Attribute::Float),
        AttributeKind::Text => {
            let text = value.cast::<PyString>().ok();
            let text = text.and_then(|text| Some(text.to_str().ok()?.to_owned()));
            text.map(Attribute::Text)
        }
        AttributeKind::DType => read(value)?.map(Attribute::DType),
        AttributeKind::OptionalDType if value.is_none() => Some(Attribute::OptionalDType(None)),
        AttributeKind::OptionalDType => {
            let dtype = attribute(value, AttributeKind::DType)?;
            dtype.and_then(|dtype| dtype.converted(kind))
        }
        AttributeKind::Ints => match int()? {
            Some(int) => Some(Attribute::Ints(vec![int])),
            None => read(value)?.map(|Items(ints)| Attribute::Ints(ints)),
        },
        AttributeKind::OptionalInt if value.is_none() => Some(Attribute::OptionalInt(None)),
        AttributeKind::OptionalInt => int()?.map(|int| Attribute::OptionalInt(Some(int))),
        AttributeKind::OptionalInts if value.is_none() => Some(Attribute::OptionalInts(None)),
        AttributeKind::OptionalInts => {
            let ints = attribute(value, AttributeKind::Ints)?;
            ints.and_then(|ints| ints.converted(kind))
        }
    })
}

/// Returns an attribute's value as a Python object.
pub(super) fn object<'py>(py: Python<'py>, value: &Attribute) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Attribute::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Attribute::Int(value) => value.into_pyobject(py)?.into_any(),
        Attribute::Float(value) => value.into_pyobject(py)?.into_any(),
        Attribute::Text(value) => value.into_pyobject(py)?.into_any(),
        Attribute::DType(value) => PyDType(*value).into_pyobject(py)?.into_any(),
        Attribute::Ints(value) => value.into_pyobject(py)?.into_any(),
        Attribute::OptionalInt(value) => value.into_pyobject(py)?.into_any(),
        Attribute::OptionalInts(value) => value.clone().into_pyobject(py)?.into_any(),
        Attribute::OptionalDType(value) => value.map(PyDType).into_pyobject(py)?.into_any(),
    })
}

/// Returns a value as it stands in a signature, where Python's parser reads it.
pub(super) fn literal(py: Python<'_>, value: &Attribute) -> String {
    match value {
        Attribute::Text(text) => ascii(py, text).unwrap_or_else(|_| "...".to_owned()),
        Attribute::Float(number) if !number.is_finite() => "...".to_owned(),
        value => value.to_string(),
    }
}

/// Returns a text as an ASCII literal, as `inspect` parses no other letters in signatures.
fn ascii(py: Python<'_>, text: &str) -> PyResult<String> {
    let ascii = py.import("builtins")?.getattr("ascii")?;
    ascii.call1((text,))?.extract()
}

/// Returns the error of an attribute's value of another kind.
#[cold]
pub(super) fn of_kind(
    op: &str,
    name: &str,
    kind: AttributeKind,
    found: Borrowed<'_, '_, PyAny>,
) -> PyErr {
    match found.repr() {
        Ok(found) => {
            let reason = format!("{op}: attribute {name:?} is of kind {kind}, not {found}");
            wrong_argument(found.to_string(), kind.to_string(), reason)
        }
        Err(error) => error,
    }
}
