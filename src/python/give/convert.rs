//! Conversions that may copy, and what would become of them.

use super::frameworks::{Framework, framework_of};
use super::needs::Misfit;
use crate::python::argument::Passed;
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use pyo3::prelude::*;

/// A tensor as an object of the framework of this name, like [`to_framework`](super::to_framework),
/// and with a word about copies.
///
/// `copy` is `Some(false)` for shared memory or an error, `Some(true)` for memory of its own, and
/// `None` for shared memory wherever that is possible, and else a copy.
///
/// # Errors
///
/// A `LookupError` for another name, an `ImportError` where the framework isn't installed, and a
/// `BufferError` where it can't have the tensor, or not without a copy that wasn't allowed.
pub fn convert<'py>(
    py: Python<'py>,
    tensor: impl Into<Passed>,
    name: &str,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = tensor.into().0;
    let framework = framework_of(name)?;
    let misfit = framework.misfit(py, &tensor)?;
    if framework.copies && copy == Some(false) && misfit.is_none() {
        return Err(not_exchangeable(format!(
            "{}; pass copy=None",
            copies_all(framework)
        )));
    }
    let fits = misfit.is_none();
    let cure = misfit.and_then(|misfit| misfit.cure);
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
        return framework.hand_over(py, copy);
    }
    if fits {
        return framework.deliver(py, framework.settled(tensor)?);
    }
    framework.hand_over(py, tensor)
}

fn copies_all(framework: &Framework) -> String {
    format!("{} copies all that it takes", framework.needs.title)
}

/// What would become of a tensor that is handed to a framework.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outlook {
    /// It shares its memory.
    Shared,
    /// It is copied if that is allowed, for this reason.
    Copied(String),
    /// The framework can't have it, for this reason.
    Refused(String),
}

/// Finds out what [`convert`] would do, without doing it.
///
/// # Errors
///
/// A `LookupError` for a framework that isn't known, and whatever asking it raises.
pub fn explain(py: Python<'_>, tensor: impl Into<Passed>, name: &str) -> PyResult<Outlook> {
    let tensor = tensor.into().0;
    let framework = framework_of(name)?;
    Ok(match framework.misfit(py, &tensor)? {
        None if framework.copies => Outlook::Copied(copies_all(framework)),
        None => Outlook::Shared,
        Some(Misfit {
            reason,
            cure: Some(_),
        }) => Outlook::Copied(reason),
        Some(Misfit { reason, .. }) => Outlook::Refused(reason),
    })
}
