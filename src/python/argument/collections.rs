//! [`List`] and [`Dict`]: collections of arguments, with errors that name the element.
//!
//! PyO3's `Vec<In<...>>` and `HashMap<String, In<...>>` work too; their errors name the argument
//! alone, as PyO3 doesn't tell an element its index and has no public hook to wrap its error.

use crate::dlpack::python::{FoundOnce, intern};
use crate::python::error::{Refused, no_collection};
#[cfg(feature = "experimental-inspect")]
use crate::python::hints;
use crate::python::import::check_borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use pyo3::{Borrowed, ffi};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

/// A Python sequence of arguments: `List<In<'py, f32>>`. It is a `Vec` whose errors name the
/// element that is wrong.
///
/// ```no_run
/// use dlbridge::python::{In, List};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn total(tensors: List<In<'_, f32>>) -> f32 {
///     tensors.iter().map(|x| x.view().iter().sum::<f32>()).sum()
/// }
/// ```
///
/// ```text
/// TypeError: expected a tensor of float32, in memory that the CPU reaches; got numpy.ndarray ...
/// while processing '[2]'
/// while processing 'tensors'
/// ```
#[derive(Debug, Clone, Default)]
pub struct List<T>(Vec<T>);

/// A Python mapping of names to arguments: `Dict<In<'py, f32>>`. It is a `HashMap` whose errors
/// name the entry that is wrong, as in `["bias"]`.
///
/// ```no_run
/// use dlbridge::python::{Dict, In};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn parameters(weights: Dict<In<'_>>) -> usize {
///     weights.values().map(|x| x.len()).sum()
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Dict<T>(HashMap<String, T>);

impl<'py, T> FromPyObject<'_, 'py> for List<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    type Error = Refused;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr =
        pyo3::type_hint_subscript!(hints::SEQUENCE, T::INPUT_TYPE);

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        // What PyO3's `Vec` takes, so that one can be replaced by the other.
        // SAFETY: the object is alive, and the thread attached.
        let is_sequence = unsafe { ffi::PySequence_Check(object.as_ptr()) } != 0;
        if !is_sequence || object.is_instance_of::<PyString>() {
            return Err(no_collection(&object, "a sequence of tensors").into());
        }
        let mut items = Vec::with_capacity(object.len().unwrap_or(0));
        for (index, item) in object.try_iter()?.enumerate() {
            let item = item?;
            let extracted = T::extract(item.as_borrowed());
            items.push(extracted.map_err(|error| inside(&item, &index.to_string(), error))?);
        }
        if !object.is_exact_instance_of::<PyList>() && !object.is_exact_instance_of::<PyTuple>() {
            // Iterating over anything else may have run Python code, which may have changed
            // elements that were borrowed before.
            check_borrowed(object.py())?;
        }
        Ok(Self(items))
    }
}

impl<'py, T> FromPyObject<'_, 'py> for Dict<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    type Error = Refused;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr =
        pyo3::type_hint_subscript!(hints::MAPPING, hints::STR, T::INPUT_TYPE);

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        let py = object.py();
        let dict = object.cast::<PyDict>();
        let is_dict = dict.is_ok();
        let items = if let Ok(dict) = dict {
            dict.items().into_any()
        } else if is_mapping(object)? {
            object.call_method0(intern!(py, "items"))?
        } else {
            return Err(no_collection(&object, "a mapping of names to tensors").into());
        };
        let mut entries = HashMap::new();
        for pair in items.try_iter()? {
            let (key, item): (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair?.extract()?;
            let name: String = key
                .extract()
                .map_err(|_| no_collection(&key, "names that are strings"))?;
            let extracted = T::extract(item.as_borrowed());
            let extracted =
                extracted.map_err(|error| inside(&item, &format!("{name:?}"), error))?;
            entries.insert(name, extracted);
        }
        drop(items);
        if !is_dict {
            check_borrowed(py)?; // As in a list.
        }
        Ok(Self(entries))
    }
}

/// Returns whether an object is of the abstract class `Mapping`.
fn is_mapping(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    static MAPPING: FoundOnce<Py<PyAny>> = FoundOnce::new();
    let py = object.py();
    let class = MAPPING.get_or_try_find(py, || {
        let module = py.import("collections.abc")?;
        Ok::<_, PyErr>(module.getattr("Mapping")?.unbind())
    })?;
    Ok(object.is_instance(class.bind(py)).unwrap_or(false))
}

/// Adds an element's index to an error, in the form of PyO3's note about the argument, which comes
/// next.
#[cold]
fn inside(item: &Bound<'_, PyAny>, index: &str, error: impl Into<PyErr>) -> Refused {
    let error: PyErr = error.into();
    let py = item.py();
    // An exception that takes no notes is raised as it is.
    let note = format!("while processing '[{index}]'");
    let _ = error
        .value(py)
        .call_method1(intern!(py, "add_note"), (note,));
    error.into()
}

impl<T> List<T> {
    /// Returns the elements.
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T> Dict<T> {
    /// Returns the entries.
    pub fn into_map(self) -> HashMap<String, T> {
        self.0
    }
}

macro_rules! wrapper {
    ($Name:ident: $Inner:ty) => {
        impl<T> Deref for $Name<T> {
            type Target = $Inner;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl<T> DerefMut for $Name<T> {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.0
            }
        }

        impl<T> IntoIterator for $Name<T> {
            type Item = <$Inner as IntoIterator>::Item;
            type IntoIter = <$Inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        impl<'a, T> IntoIterator for &'a $Name<T> {
            type Item = <&'a $Inner as IntoIterator>::Item;
            type IntoIter = <&'a $Inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter()
            }
        }

        impl<'a, T> IntoIterator for &'a mut $Name<T> {
            type Item = <&'a mut $Inner as IntoIterator>::Item;
            type IntoIter = <&'a mut $Inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.iter_mut()
            }
        }
    };
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T> FromIterator<(String, T)> for Dict<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

wrapper!(List: Vec<T>);
wrapper!(Dict: HashMap<String, T>);
