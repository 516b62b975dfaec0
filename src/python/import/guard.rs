//! Checks before a framework's tensor is used, and the meaning of its table's errors.

use crate::python::error::Refused;
use crate::python::frameworks::{OTHER, TableVendor, Time, vendor_of_layout};
use crate::python::import::recheck::check_borrowed;
use crate::python::import::type_cache::protocol_vendor;
use crate::python::refusal;
use pyo3::Borrowed;
use pyo3::prelude::*;

/// Refuses tensors that a table exports, and whose memory isn't all that they are.
#[inline]
pub(super) fn guard_table(
    vendor: &TableVendor,
    object: Borrowed<'_, '_, PyAny>,
    time: Time,
) -> Result<(), Refused> {
    if let Some(guard) = vendor.guard
        && guard(object, time)?
    {
        // Python code that ran may have changed other arguments.
        check_borrowed(object.py())?;
    }
    Ok(())
}

/// Refuses objects that come through `__dlpack__`, where that is their framework's own and gives
/// tensors whose memory is not their value.
pub(super) fn guard_protocol(object: Borrowed<'_, '_, PyAny>, time: Time) -> Result<(), Refused> {
    let vendor = protocol_vendor(object)?;
    if vendor.is(&OTHER)
        && let Some(vendor) = vendor_of_layout(object.get_type_ptr())
        && let Some(guard) = vendor.guard_override
    {
        // A class that overrides the method may call the framework's own.
        return guard(object);
    }
    guard_table(vendor, object, time)
}

/// Returns what a table's error means, where that can be said better.
#[cold]
pub(super) fn clarify(
    vendor: &TableVendor,
    object: Borrowed<'_, '_, PyAny>,
    error: PyErr,
) -> PyErr {
    refusal::by_producer(object, (vendor.clarify)(object, error))
}
