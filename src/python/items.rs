//! Numbers in sequences, whose lengths aren't believed.

use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The items of a sequence. A `Vec` would reserve memory for as many as `__len__` says there are.
#[derive(Debug)]
pub(in crate::python) struct Items<T>(pub(in crate::python) Vec<T>);

impl<'a, 'py, T> FromPyObject<'a, 'py> for Items<T>
where
    T: for<'b> FromPyObject<'b, 'py, Error = PyErr>,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if !is_sequence(&object) {
            let what = object.get_type().fully_qualified_name()?;
            return Err(PyTypeError::new_err(format!(
                "expected a sequence, got {what}"
            )));
        }
        let mut items = Vec::new();
        for item in object.try_iter()? {
            items.push(item?.extract()?);
        }
        Ok(Self(items))
    }
}

/// Returns a number, or those of a sequence.
///
/// # Errors
///
/// What reading them raises, and a `TypeError` for other objects.
pub fn one_or_several<'py, T>(object: &Bound<'py, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'b> FromPyObject<'b, 'py, Error = PyErr>,
{
    match object.extract() {
        Ok(number) => Ok(vec![number]),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) && is_sequence(object) => {
            object.extract().map(|Items(numbers)| numbers)
        }
        Err(error) => Err(error),
    }
}

/// Returns whether it is a sequence, and no text, of which an empty one would be like no items.
fn is_sequence(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: an object.
    let is_sequence = unsafe { ffi::PySequence_Check(object.as_ptr()) } != 0;
    is_sequence && !object.is_instance_of::<PyString>()
}
