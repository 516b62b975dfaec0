//! The consumer's side of `__dlpack__`.

use super::capsule::Offer;
use super::foreign;
use crate::abi::{DLDevice, VERSION};
use crate::python::intern;
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

/// A consumer's requests besides the tensor.
#[derive(Debug, Clone, Default)]
pub struct Wish<'py> {
    /// `Some(true)`: memory of its own; `Some(false)`: shared memory or an error.
    pub copy: Option<bool>,
    /// The requested device.
    pub device: Option<DLDevice>,
    /// The stream on which the memory will be used. Never to be sent to a producer of host
    /// memory: most of them refuse it.
    pub stream: Option<Bound<'py, PyAny>>,
}

/// Asks an object for a capsule: keywords first, and without them where the producer doesn't know
/// them. Which of the two ABIs comes is the producer's choice; a capsule is passed on as it is.
///
/// Producers may ignore a wish, and a capsule can't be queried: where the memory is, and
/// whether it was copied, is for the caller to check.
///
/// # Errors
///
/// A `TypeError` for objects that speak no DLPack, a `BufferError` when the wish can't be met by
/// asking without keywords, and whatever the producer raises.
pub fn ask<'py>(object: &Bound<'py, PyAny>, wish: &Wish<'py>) -> PyResult<Bound<'py, PyCapsule>> {
    if let Ok(capsule) = object.cast::<PyCapsule>() {
        Offer::from_capsule(object.as_borrowed())?;
        return Ok(capsule.clone());
    }
    let py = object.py();
    let answer = match with_keywords(object, wish) {
        Ok(answer) => answer,
        // What is derived from it isn't about the keywords.
        Err(error) if error.get_type(py).is(PyTypeError::type_object(py)) => {
            without_keywords(object, wish, error)?
        }
        Err(error) => return Err(error),
    };
    Offer::from_capsule(answer.as_borrowed())?;
    Ok(answer.cast_into()?)
}

fn with_keywords<'py>(object: &Bound<'py, PyAny>, wish: &Wish<'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    if wish.copy.is_none() && wish.device.is_none() && wish.stream.is_none() {
        return with_version_only(object);
    }
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
    if let Some(copy) = wish.copy {
        keywords.set_item(intern!(py, "copy"), copy)?;
    }
    if let Some(device) = wish.device {
        let pair = (device.device_type.0, device.device_id);
        keywords.set_item(intern!(py, "dl_device"), pair)?;
    }
    if let Some(stream) = &wish.stream {
        keywords.set_item(intern!(py, "stream"), stream)?;
    }
    foreign::call_method(object, intern!(py, "__dlpack__"), (), Some(&keywords))
}

/// Returns the usual case, without a dictionary.
#[cfg(any(Py_3_12, not(Py_LIMITED_API)))]
fn with_version_only<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    use crate::python::FoundOnce;

    static VERSION_AND_NAMES: FoundOnce<(Py<PyTuple>, Py<PyTuple>)> = FoundOnce::new();
    let py = object.py();
    let (version, names) = VERSION_AND_NAMES.get_or_try_find(py, || {
        let version = (VERSION.major, VERSION.minor).into_pyobject(py)?;
        let names = (intern!(py, "max_version"),).into_pyobject(py)?;
        Ok::<_, PyErr>((version.unbind(), names.unbind()))
    })?;
    let (version, names) = (version.bind(py), names.bind(py));
    foreign::call_with_version(object, intern!(py, "__dlpack__"), version, names)
}

#[cfg(not(any(Py_3_12, not(Py_LIMITED_API))))]
fn with_version_only<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (VERSION.major, VERSION.minor))?;
    foreign::call_method(object, intern!(py, "__dlpack__"), (), Some(&keywords))
}

/// Asks a producer that predates the keywords. Such producers share memory, on its own device.
#[cold]
fn without_keywords<'py>(
    object: &Bound<'py, PyAny>,
    wish: &Wish<'py>,
    refusal: PyErr,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let Some(method) = object.getattr_opt(intern!(py, "__dlpack__"))? else {
        let what = object.get_type().fully_qualified_name()?;
        return Err(PyTypeError::new_err(format!(
            "expected a tensor, got {what}, which has no __dlpack__"
        )));
    };
    if let Some(device) = wish.device {
        let (kind, id): (u32, i32) =
            foreign::call_method(object, intern!(py, "__dlpack_device__"), (), None)?.extract()?;
        if (kind, id) != (device.device_type.0, device.device_id) {
            let error = PyBufferError::new_err(
                "the producer is on another device, and doesn't know the keyword dl_device",
            );
            error.set_cause(py, Some(refusal));
            return Err(error);
        }
    }
    let keywords = match &wish.stream {
        None => None,
        Some(stream) => {
            let keywords = PyDict::new(py);
            keywords.set_item(intern!(py, "stream"), stream)?;
            Some(keywords)
        }
    };
    let answer = foreign::call(&method, &PyTuple::empty(py), keywords.as_ref());
    // The first error is why there was a second attempt.
    answer.inspect_err(|error| {
        // A producer may raise one exception object twice, which isn't its own cause.
        if !error.value(py).is(refusal.value(py)) {
            error.set_cause(py, Some(refusal));
        }
    })
}
