//! [`Fields`]: the text of an exception, and its attributes.

use crate::error::{Incompatibility, IncompatibilityKind};
#[cfg(feature = "kernels")]
use crate::kernel::CallError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use pyo3::{PyErrArguments, PyTypeInfo};
use std::borrow::Cow;
use std::marker::PhantomData;

/// The attributes of exceptions.
const NAMES: [&str; 4] = ["kind", "found", "wanted", "remedy"];

/// What an exception says: the fields of an [`Incompatibility`], with the op before the text.
#[derive(Debug, Clone)]
pub(in crate::python) struct Fields {
    place: String,
    error: Incompatibility,
}

impl From<Incompatibility> for Fields {
    fn from(error: Incompatibility) -> Self {
        let place = String::new();
        Self { place, error }
    }
}

impl<T: Into<Cow<'static, str>>> From<(IncompatibilityKind, T)> for Fields {
    fn from((kind, reason): (IncompatibilityKind, T)) -> Self {
        Incompatibility::from_reason(kind, reason).into()
    }
}

impl From<String> for Fields {
    fn from(reason: String) -> Self {
        Incompatibility::from_reason(IncompatibilityKind::Exchange, reason).into()
    }
}

impl From<&'static str> for Fields {
    fn from(reason: &'static str) -> Self {
        Incompatibility::from_reason(IncompatibilityKind::Exchange, reason).into()
    }
}

impl Fields {
    pub(super) fn kind(&self) -> IncompatibilityKind {
        self.error.kind
    }

    /// Returns those of a call of an op.
    #[cfg(feature = "kernels")]
    pub(super) fn of_call(error: &CallError) -> Self {
        Self {
            place: format!("{}: ", error.op),
            error: error.reason.incompatibility(),
        }
    }

    /// Adds words to the remedy.
    #[cfg(feature = "kernels")]
    pub(super) fn with_more_remedy(mut self, words: &str) -> Self {
        if let Some(remedy) = &mut self.error.remedy {
            remedy.to_mut().push_str(words);
        }
        self
    }

    /// Makes an exception of a class.
    pub(super) fn raise<T: PyTypeInfo + 'static>(self) -> PyErr {
        lazily::<T>(move || self)
    }

    /// Makes an exception of a class that is known by its object.
    pub(super) fn raise_as(self, class: &Bound<'_, PyType>) -> PyErr {
        let kept = class.clone().unbind();
        PyErr::from_type(class.clone(), OfClass(kept, self))
    }

    /// Makes the exception's instance, which Python takes as it is.
    fn instance(self, class: &Bound<'_, PyType>) -> Py<PyAny> {
        let message = format!("{}{}", self.place, self.error);
        let made = class.call1((message.as_str(),)).and_then(|instance| {
            let Incompatibility {
                kind,
                found,
                wanted,
                remedy,
                ..
            } = self.error;
            let texts = [Some(kind.as_str().into()), found, wanted, remedy];
            for (name, text) in NAMES.iter().zip(texts) {
                instance.setattr(*name, text)?;
            }
            Ok(instance)
        });
        match made {
            Ok(instance) => instance.unbind(),
            Err(_) => PyString::new(class.py(), &message).into_any().unbind(),
        }
    }
}

/// Makes an exception whose fields are worked out when Python gets it: until then it needs no
/// thread state.
pub(super) fn lazily<T: PyTypeInfo + 'static>(
    fields: impl FnOnce() -> Fields + Send + Sync + 'static,
) -> PyErr {
    PyErr::new::<T, _>(Lazy(fields, PhantomData::<fn() -> T>))
}

struct Lazy<T, F>(F, PhantomData<fn() -> T>);

impl<T: PyTypeInfo + 'static, F: FnOnce() -> Fields + Send + Sync + 'static> PyErrArguments
    for Lazy<T, F>
{
    fn arguments(self, py: Python<'_>) -> Py<PyAny> {
        (self.0)().instance(&py.get_type::<T>())
    }
}

struct OfClass(Py<PyType>, Fields);

impl PyErrArguments for OfClass {
    fn arguments(self, py: Python<'_>) -> Py<PyAny> {
        self.1.instance(self.0.bind(py))
    }
}

/// Gives an exception the fields of another one, where that has them.
#[cfg(feature = "kernels")]
#[cold]
pub(in crate::python) fn with_fields_of(py: Python<'_>, error: PyErr, other: &PyErr) -> PyErr {
    let (to, from) = (error.value(py), other.value(py));
    for name in NAMES {
        // An exception that has none, and one that takes none, are as good.
        if let Ok(Some(field)) = from.getattr_opt(name) {
            let _ = to.setattr(name, field);
        }
    }
    error
}

/// Returns the fields of an exception, as far as it has them: those of other libraries' may have
/// some, too.
#[cold]
pub fn fields_of(py: Python<'_>, error: &PyErr) -> Incompatibility {
    let value = error.value(py);
    let field = |name| -> Option<String> { value.getattr_opt(name).ok()??.extract().ok() };
    let [kind, found, wanted, remedy] = NAMES.map(field);
    let kind = kind.and_then(|kind| {
        let mut all = IncompatibilityKind::ALL.iter();
        all.find(|known| known.as_str() == kind).copied()
    });
    let text = value.to_string();
    let reason = remedy.as_deref().and_then(|remedy| {
        let reason = text.strip_suffix(remedy)?.strip_suffix("; ")?;
        Some(reason.to_owned())
    });
    let kind = kind.unwrap_or(IncompatibilityKind::Exchange);
    let mut fields = Incompatibility::from_reason(kind, reason.unwrap_or(text));
    fields.found = found.map(Into::into);
    fields.wanted = wanted.map(Into::into);
    fields.remedy = remedy.map(Into::into);
    fields
}
