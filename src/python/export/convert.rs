//! Conversions that may copy, and predictions of their outcome.

use super::conversion::Conversion;
use super::deliver::{deliver, settled};
use super::export_to::{export_sure, export_to};
use super::misfit::{misfit, permit};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use crate::python::frameworks::Framework;
use crate::python::import::passed::Passed;
use crate::python::readonly::ReadOnlyPolicy;
use crate::tensor::Tensor;
use pyo3::prelude::*;

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
    let framework = Framework::named(name)?;
    let made = convert_by(py, tensor.into().0, framework, &conversion.into());
    made.map_err(|error| framework.with_absence(py, error))
}

fn convert_by<'py>(
    py: Python<'py>,
    tensor: Tensor,
    framework: &'static Framework,
    conversion: &Conversion<'_, '_>,
) -> PyResult<Bound<'py, PyAny>> {
    let copy = conversion.copy;
    let tensor = if copy == Some(true) || framework.copies {
        tensor
    } else {
        match export_sure(framework, py, tensor) {
            Ok(made) => return made,
            Err(tensor) => tensor,
        }
    };
    let misfit = misfit(framework, py, &tensor)?;
    if framework.copies && copy == Some(false) && misfit.is_none() {
        return Err(not_exchangeable(
            copies_all(framework).with_remedy("pass copy=None"),
        ));
    }
    let cure = misfit.as_ref().and_then(|misfit| misfit.copy_to);
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
        permit(misfit, py, conversion, framework.title)?;
    }
    deliver(framework, py, settled(framework, tensor)?)
}

fn copies_all(framework: &Framework) -> Incompatibility {
    let reason = format!("{} copies all that it takes", framework.title);
    Incompatibility::new(IncompatibilityKind::Copy, "copy=False", "copy=None").with_reason(reason)
}

/// What would become of a tensor that is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It shares its memory.
    Shared,
    /// It is copied, if that is allowed.
    Copied,
    /// The framework can't have it.
    Refused,
}

impl Outcome {
    /// Returns the name, as Python has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Copied => "copied",
            Self::Refused => "refused",
        }
    }
}

/// What [`convert`] would do with a tensor, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// What would become of the tensor.
    pub outcome: Outcome,
    /// Why it isn't shared; of one that is shared, what forbids to write through the result.
    pub incompatibility: Option<Incompatibility>,
}

impl Explanation {
    /// That an error refuses the tensor.
    pub fn refused(error: Incompatibility) -> Self {
        Self::new(Outcome::Refused, error)
    }

    fn new(outcome: Outcome, error: impl Into<Option<Incompatibility>>) -> Self {
        Self {
            outcome,
            incompatibility: error.into(),
        }
    }
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
) -> PyResult<Explanation> {
    let tensor = &tensor.into().0;
    let framework = Framework::named(name)?;
    if let Some(absence) = framework.absent(py)? {
        return Ok(Explanation::refused(absence));
    }
    let misfit = match misfit(framework, py, tensor)? {
        None if framework.copies => {
            return Ok(Explanation::new(Outcome::Copied, copies_all(framework)));
        }
        None => return Ok(Explanation::new(Outcome::Shared, None)),
        Some(misfit) => misfit,
    };
    if misfit.kind == IncompatibilityKind::ReadOnly {
        let policy = match readonly.into() {
            Some(policy) => policy,
            None => ReadOnlyPolicy::current(py)?,
        };
        if policy != ReadOnlyPolicy::Refuse {
            let remark = format!(
                "the memory is read-only, and {} can't be told so: writing through the result is forbidden",
                framework.title
            );
            return Ok(Explanation::new(
                Outcome::Shared,
                misfit.with_reason(remark),
            ));
        }
    }
    let outcome = match misfit.copy_to {
        Some(_) => Outcome::Copied,
        None => Outcome::Refused,
    };
    Ok(Explanation::new(outcome, misfit))
}
