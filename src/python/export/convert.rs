//! Conversions that may copy, and what would become of them.

use super::export_to::{deliver, export_to, settled};
use super::misfit::misfit;
use crate::python::argument::Passed;
use crate::python::class::PyTensor;
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use crate::python::frameworks::{Framework, title_of};
use crate::python::readonly::ReadOnlyPolicy;
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// What a conversion may do: copy, or share memory that is read-only.
///
/// ```
/// use dlbridge::python::{Conversion, ReadOnlyPolicy};
///
/// let shared = Conversion::default(); // no copy, and the policy that holds at the time
/// let quiet = Conversion::default().readonly(ReadOnlyPolicy::Share);
/// let writable = Conversion::from(None); // a copy where memory can't be shared, or not be written
/// # let _ = (shared, quiet, writable);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Conversion<'a, 'py> {
    pub(in crate::python) copy: Option<bool>,
    pub(in crate::python) readonly: Option<ReadOnlyPolicy>,
    pub(in crate::python) origin: Origin<'a, 'py>,
}

/// Where a tensor is from, which a warning names.
#[derive(Debug, Clone, Copy)]
pub(in crate::python) enum Origin<'a, 'py> {
    Unknown,
    Object(&'a Bound<'py, PyAny>),
    Ours(&'a PyTensor),
}

impl Conversion<'_, '_> {
    /// Shared memory, or an error; by the policy that holds at the time.
    pub(in crate::python) const SHARED: Conversion<'static, 'static> = Conversion {
        copy: Some(false),
        readonly: None,
        origin: Origin::Unknown,
    };
}

impl Default for Conversion<'_, '_> {
    /// Shared memory, or an error; by the [current policy](ReadOnlyPolicy::current).
    fn default() -> Self {
        Self::SHARED
    }
}

impl From<Option<bool>> for Conversion<'_, '_> {
    /// `Some(false)` for shared memory or an error, `Some(true)` for memory of its own, and `None` for
    /// shared memory wherever that is possible, and else a copy.
    fn from(copy: Option<bool>) -> Self {
        Self {
            copy,
            ..Self::SHARED
        }
    }
}

impl<'a, 'py> Conversion<'a, 'py> {
    /// Sets what happens where the tensor is read-only and the framework has no read-only tensors;
    /// `None` for the [current policy](ReadOnlyPolicy::current).
    #[must_use]
    pub fn readonly(self, policy: impl Into<Option<ReadOnlyPolicy>>) -> Self {
        Self {
            readonly: policy.into(),
            ..self
        }
    }

    /// Says whose tensor it was, which a warning names: the object that it was taken from.
    #[must_use]
    pub fn taken_from(self, object: &'a Bound<'py, PyAny>) -> Self {
        let origin = Origin::Object(object);
        Self { origin, ..self }
    }

    /// The same of an object of our own class, which remembers it.
    pub(in crate::python) fn taken_from_ours(self, object: &'a PyTensor) -> Self {
        let origin = Origin::Ours(object);
        Self { origin, ..self }
    }
}

impl Origin<'_, '_> {
    /// What users call it.
    #[cold]
    pub(in crate::python) fn title(&self, py: Python<'_>) -> PyResult<String> {
        let kind = match self {
            Self::Unknown => None,
            Self::Ours(tensor) => tensor.source(py),
            Self::Object(object) => match object.cast_exact::<PyTensor>() {
                Ok(tensor) => tensor.get().source(py),
                Err(_) => Some(object.get_type()),
            },
        };
        match kind {
            Some(kind) => title_of(&kind),
            None => Ok("dlbridge".to_owned()),
        }
    }
}

/// A tensor as an object of the framework of this name, like [`to_framework`](super::to_framework),
/// and with a word about copies and about read-only memory.
///
/// Of a tensor that is read-only and a framework that has no read-only tensors, `copy=None` makes a
/// copy; shared memory is left to the [policy](Conversion::readonly).
///
/// ```no_run
/// use dlbridge::python::{Conversion, ReadOnlyPolicy, convert};
/// use pyo3::prelude::*;
///
/// /// A table that is compiled in, as a tensor of PyTorch. It must not be written.
/// #[pyfunction]
/// fn table(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
///     static TABLE: [f32; 3] = [1.0, 2.0, 4.0];
///     let tensor = dlbridge::Tensor::from_owner(&TABLE, &[3])?;
///     convert(py, tensor, "torch", Conversion::default().readonly(ReadOnlyPolicy::Share))
/// }
/// ```
///
/// # Errors
///
/// A `LookupError` for another name, an `ImportError` where the framework isn't installed, and a
/// `BufferError` where it can't have the tensor, or not without a copy that wasn't allowed.
pub fn convert<'a, 'py>(
    py: Python<'py>,
    tensor: impl Into<Passed>,
    name: &str,
    conversion: impl Into<Conversion<'a, 'py>>,
) -> PyResult<Bound<'py, PyAny>>
where
    'py: 'a,
{
    convert_by(py, tensor.into().0, name, &conversion.into())
}

fn convert_by<'py>(
    py: Python<'py>,
    tensor: Tensor,
    name: &str,
    conversion: &Conversion<'_, '_>,
) -> PyResult<Bound<'py, PyAny>> {
    let copy = conversion.copy;
    let framework = Framework::named(name)?;
    let misfit = misfit(framework, py, &tensor)?;
    if framework.copies && copy == Some(false) && misfit.is_none() {
        return Err(not_exchangeable(format!(
            "{}; pass copy=None",
            copies_all(framework)
        )));
    }
    let cure = misfit.as_ref().and_then(|misfit| misfit.cure);
    let copied_to = match copy {
        Some(false) => None,
        // Some copy by themselves.
        Some(true) if framework.copies => cure,
        Some(true) => cure.or(Some(tensor.device())),
        None => cure,
    };
    if let Some(device) = copied_to {
        let is_there = device == tensor.device();
        let copy = match is_there {
            true => cuda::copy(&tensor)?,
            false => cuda::copy_on(&tensor, device)?,
        };
        return export_to(framework, py, copy, conversion);
    }
    if let Some(misfit) = misfit {
        misfit.permit(py, conversion, framework.title)?;
    }
    deliver(framework, py, settled(framework, tensor)?)
}

fn copies_all(framework: &Framework) -> String {
    format!("{} copies all that it takes", framework.title)
}

/// What would become of a tensor that is handed to a framework.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outlook {
    /// It shares its memory.
    Shared,
    /// It shares its memory, which is read-only though the framework has no read-only tensors:
    /// writing through the result is forbidden, as this remark says.
    SharedReadOnly(String),
    /// It is copied if that is allowed, for this reason.
    Copied(String),
    /// The framework can't have it, for this reason.
    Refused(String),
}

/// Finds out what [`convert`] would do, without doing it. `readonly` is the policy for read-only
/// memory, or `None` for the [current one](ReadOnlyPolicy::current).
///
/// # Errors
///
/// A `LookupError` for a framework that isn't known, and whatever asking it raises.
pub fn explain(
    py: Python<'_>,
    tensor: impl Into<Passed>,
    name: &str,
    readonly: impl Into<Option<ReadOnlyPolicy>>,
) -> PyResult<Outlook> {
    let tensor = &tensor.into().0;
    let framework = Framework::named(name)?;
    let misfit = match misfit(framework, py, tensor)? {
        None if framework.copies => return Ok(Outlook::Copied(copies_all(framework))),
        None => return Ok(Outlook::Shared),
        Some(misfit) => misfit,
    };
    if misfit.is_only_read_only {
        let policy = match readonly.into() {
            Some(policy) => policy,
            None => ReadOnlyPolicy::current(py)?,
        };
        if policy != ReadOnlyPolicy::Refuse {
            return Ok(Outlook::SharedReadOnly(format!(
                "the memory is read-only, and {} can't be told so: writing through the result is forbidden",
                framework.title
            )));
        }
    }
    Ok(match misfit.cure {
        Some(_) => Outlook::Copied(misfit.reason),
        None => Outlook::Refused(misfit.reason),
    })
}
