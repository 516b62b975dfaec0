//! Capsules from other methods than `__dlpack__`, and guards of objects whose capsules are unsafe.

use crate::dlpack::python::{Offer, Wish, ask};
use crate::dlpack::{Abi, Flags, Legacy, Managed, Versioned};
use crate::interchange::Described;
use crate::layout::Layout;
use crate::python::error::not_importable;
use crate::python::frameworks::{CapsuleMethods, Framework};
use crate::python::refusal;
use crate::storage::Owner;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Refuses an object that its framework can't be asked a capsule for.
pub(super) fn guard_capsule(object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
    let framework = Framework::of_type(&object.get_type());
    match framework.and_then(|framework| framework.guard_capsule) {
        Some(guard) => guard(object),
        None => Ok(()),
    }
}

/// Asks an object for a capsule by `__dlpack__`, and its framework by another way where that
/// refuses the tensor.
pub(super) fn by_dlpack<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    wish: &Wish<'py>,
) -> PyResult<Bound<'py, PyCapsule>> {
    ask(&object, wish).or_else(|error| after_refusal(object, error))
}

/// Asks the framework of an object whose capsule was refused for a versioned one in another way.
///
/// # Errors
///
/// The given one where there is no other way, or where it isn't about the tensor.
#[cold]
fn after_refusal<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    error: PyErr,
) -> PyResult<Bound<'py, PyCapsule>> {
    let framework = Framework::of_type(&object.get_type());
    match framework.and_then(|framework| framework.export_refused) {
        Some(export) if refusal::is_refusal(object.py(), &error) => export(object)?.ok_or(error),
        _ => Err(error),
    }
}

/// What such a method gave: a legacy capsule of the framework's, or, without methods, a versioned
/// one in place of one that it refused.
type ByMethod<'py> = (Bound<'py, PyCapsule>, Option<&'static CapsuleMethods>);

/// Asks an object for a capsule by the method that its framework has in place of `__dlpack__`;
/// `None` where there is none.
#[cold]
pub(super) fn by_method<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    is_written: bool,
) -> PyResult<Option<ByMethod<'py>>> {
    let framework = Framework::of_type(&object.get_type());
    let Some(methods) = framework.and_then(|framework| framework.capsule_methods.as_ref()) else {
        return Ok(None);
    };
    match (methods.ask)(object, is_written) {
        Ok(capsule) => Ok(capsule.map(|capsule| (capsule, Some(methods)))),
        Err(error) => match after_refusal(object, error) {
            Ok(capsule) => Ok(Some((capsule, None))),
            Err(error) => Err(refusal::by_producer(object, error)),
        },
    }
}

/// Takes the tensor in a capsule that such a method just made.
pub(super) fn take((capsule, methods): ByMethod<'_>) -> PyResult<Tensor> {
    let Some(methods) = methods else {
        // SAFETY: the capsule was just made of a tensor of ours, that no other code has.
        let managed: Managed<Versioned> =
            unsafe { Offer::take(capsule.as_borrowed(), |_| Ok(())) }?;
        return Tensor::from_dlpack(managed).map_err(not_importable);
    };
    let correct = methods.correct;
    let check = |managed: &Legacy| {
        let mut layout = Layout::SCALAR;
        let descriptor = correct(managed.descriptor());
        // SAFETY: the framework fulfils what DLPack asks of a descriptor, but for what `correct`
        // corrects.
        let described = unsafe { Described::read(&descriptor, Flags::empty(), &mut layout) };
        described.map(|_| ()).map_err(not_importable)
    };
    // SAFETY: the framework just made the capsule, so that it holds a managed tensor that no other
    // code has.
    let managed: Managed<Legacy> = unsafe { Offer::take(capsule.as_borrowed(), check) }?;
    let descriptor = correct(managed.descriptor());
    // SAFETY: the managed tensor keeps the memory that it describes.
    unsafe { Tensor::adopt(&descriptor, flags_of(methods), Owner::small(managed)) }
        .map_err(not_importable)
}

/// Returns what such a capsule can't say.
pub(super) fn flags_of(methods: &CapsuleMethods) -> Flags {
    let mut flags = Flags::empty();
    flags.set(Flags::READ_ONLY, methods.read_only);
    flags
}

/// Returns whether the framework of an object has immutable arrays, where a legacy capsule came,
/// which can't say so.
pub(super) fn is_immutable_in_legacy(object: Borrowed<'_, '_, PyAny>) -> bool {
    Framework::of_type(&object.get_type()).is_some_and(|framework| framework.legacy_is_read_only)
}
