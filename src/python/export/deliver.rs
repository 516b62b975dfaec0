//! The way out of the library: a tensor that a framework can have becomes its object.

use super::permitted::Permitted;
use crate::dlpack::python::Table;
use crate::error::Error;
use crate::python::frameworks::{
    Entrance, Export, Framework, Streams, TableVendor, legacy_capsule,
};
use crate::python::{cuda, refusal};
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// Exports a tensor that meets the framework's constraints, or is read-only with leave to be
/// shared.
#[inline]
pub(super) fn deliver<'py>(
    framework: &Framework,
    py: Python<'py>,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    deliver_by(framework, py, tensor, |py, tensor| match framework.export {
        Export::OurClass => own(py, tensor),
        Export::Tensor(make) => make(py, tensor),
        Export::Table {
            table,
            vendor,
            without,
        } => match table.find(py)? {
            Some(table) => make_by_table(py, table, vendor, tensor),
            None => {
                // A capsule says nothing of streams.
                cuda::given_to(py, &tensor, &Streams::UNKNOWN)?;
                (vendor.make)(py, Entrance::Capsule(without), tensor)
            }
        },
        Export::Object(import) => {
            let dtype = tensor.dtype();
            import(py, importable(py, tensor)?, dtype)
        }
        Export::LegacyCapsule { prepare, import } => {
            let dtype = tensor.dtype();
            let capsule = legacy_capsule(py, prepare(tensor)?)?;
            import(py, capsule, dtype)
        }
    })
}

/// Exports a tensor, like [`deliver`], in this way.
#[inline(always)]
pub(super) fn deliver_by<'py>(
    framework: &Framework,
    py: Python<'py>,
    tensor: Tensor,
    make: impl FnOnce(Python<'py>, Tensor) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    cuda::given_to(py, &tensor, &framework.streams)?;
    make(py, tensor).map_err(|error| refusal::by_consumer(py, framework.name, error))
}

/// Returns the tensor, or, for one without elements at an address that the framework finds wrong
/// all the same, another one without elements.
#[inline]
pub(super) fn settled(framework: &Framework, tensor: Tensor) -> Result<Tensor, Error> {
    let is_settled = !tensor.is_empty()
        || tensor
            .data_ptr()
            .addr()
            .is_multiple_of(framework.needs.alignment)
        || !tensor.device().is_host_accessible();
    if is_settled {
        return Ok(tensor);
    }
    Tensor::zeros(tensor.shape(), tensor.dtype())
}

/// Exports a tensor as an object of our own class.
pub(super) fn own(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    Ok(tensor.into_pyobject(py)?.into_any())
}

/// Exports a tensor by an exchange table.
pub(super) fn make_by_table<'py>(
    py: Python<'py>,
    table: Table,
    vendor: &TableVendor,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    cuda::given_by_table(py, &tensor, table, vendor)?;
    let made = (vendor.make)(py, Entrance::Table(table), tensor);
    made.map_err(|error| refusal::by_consumer(py, vendor.name, error))
}

/// Exports a tensor as the object that a framework's own function takes. One that is read-only got
/// here with the policy's leave, or for a framework that copies it: neither is requested again.
fn importable(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    match tensor.is_read_only() {
        true => Ok(Bound::new(py, Permitted::from(tensor))?.into_any()),
        false => own(py, tensor),
    }
}
