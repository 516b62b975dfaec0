//! Checks of borrowed memory, after Python code ran that could have taken it away.

use crate::dlpack::Flags;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::python::borrows::{Entry, Keep, list_borrowed};
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::numpy;
use crate::python::frameworks::torch;
use crate::python::import::type_cache::ImportPath;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::mem::MaybeUninit;

/// Checks that every object from which memory is borrowed still has it, after code of Python's ran
/// that could have resized or re-pointed one.
///
/// # Errors
///
/// A `BufferError` about the first one that was changed.
#[cold]
#[inline(never)]
pub(in crate::python) fn check_borrowed(py: Python<'_>) -> Result<(), Refused> {
    for (entry, object) in list_borrowed(py) {
        // SAFETY: entries are never freed. One that was given back meanwhile, by code that a
        // table's function ran, has another object, or none.
        let entry = unsafe { entry.as_ref() };
        if entry.object != object.as_ptr() {
            continue;
        }
        let is_kept_by_object = matches!(entry.keep(), Keep::Object);
        let mut now = Entry::new();
        // SAFETY: the object is there as long as the entry that is made of it.
        let is_there = unsafe { borrow_again(object.as_borrowed(), &mut now, is_kept_by_object) };
        if entry.object == object.as_ptr() && is_there == Some(true) && !entry.is_the_same_as(&now)
        {
            return Err(changed(&object));
        }
        if is_there == Some(false) {
            return Err(changed(&object));
        }
    }
    Ok(())
}

/// Borrows from an object again, as it is now, without running Python code. `None` for an object
/// whose tensor never changes, or which has no way that would be used; `false` where it has no
/// tensor any more.
///
/// # Safety
///
/// The object stays as long as the entry is used.
unsafe fn borrow_again(
    object: Borrowed<'_, '_, PyAny>,
    now: &mut Entry,
    is_kept_by_object: bool,
) -> Option<bool> {
    match ImportPath::for_object(object).ok()? {
        // SAFETY: the type cache found that the object is a `numpy.ndarray`; it stays as long as
        // the entry is used.
        ImportPath::Numpy => Some(unsafe { numpy::borrow(object, now) }.is_ok()),
        ImportPath::Table(table, _) => {
            if let Some(usual) = torch::describe_usual(object) {
                let (descriptor, flags) = usual.descriptor();
                // SAFETY: the object keeps what the descriptor says.
                return Some(unsafe { now.fill(&descriptor, flags) }.is_ok());
            }
            let mut room = MaybeUninit::uninit();
            // SAFETY: the table was found in the object's type, which its functions are for.
            let Some(descriptor) = (unsafe { table.borrow_to(object, &mut room) }) else {
                drop(table.borrow_error(object.py()));
                return Some(false);
            };
            // SAFETY: the object keeps what the descriptor says.
            Some(unsafe { now.fill(descriptor, Flags::empty()) }.is_ok())
        }
        // A tensor of a release without a table, read by PyTorch's functions.
        ImportPath::Protocol if is_kept_by_object => {
            let described = torch::describe_usual(object).map(|usual| usual.descriptor());
            // SAFETY: the object keeps what the descriptor says.
            Some(described.is_some_and(|(it, flags)| unsafe { now.fill(&it, flags) }.is_ok()))
        }
        ImportPath::Own | ImportPath::Buffer(_) | ImportPath::Scalar | ImportPath::Protocol => None,
    }
}

#[cold]
fn changed(object: &Bound<'_, PyAny>) -> Refused {
    let kind = object.get_type();
    let kind = kind.fully_qualified_name();
    let kind = kind.map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let reason = format!(
        "expected borrowed tensors to stay as they are during a call; Python code that ran meanwhile has resized or re-pointed a {kind} that is in use"
    );
    not_exchangeable(
        Incompatibility::from_reason(IncompatibilityKind::Alias, reason)
            .with_remedy("pass a copy of it, or don't change it meanwhile"),
    )
    .into()
}
