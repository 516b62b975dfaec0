//! Tensors become objects of a framework, in the way that its row says.

use super::conversion::Conversion;
use super::misfit::{misfit, permit, unmet_need};
use super::permitted::Permitted;
use crate::dlpack::Legacy;
use crate::dlpack::python::{Table, into_capsule};
use crate::error::Error;
use crate::python::frameworks::{Export, Framework, TableVendor};
use crate::python::{cuda, refusal};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Exports a tensor as an object of a framework.
///
/// # Errors
///
/// When the framework can't have it without a copy, or refuses it.
pub(super) fn export_to<'py>(
    framework: &Framework,
    py: Python<'py>,
    tensor: Tensor,
    conversion: &Conversion<'_, '_>,
) -> PyResult<Bound<'py, PyAny>> {
    if (framework.surely_has)(&tensor) {
        return deliver(framework, py, tensor);
    }
    if let Some(misfit) = misfit(framework, py, &tensor)? {
        permit(misfit, py, conversion, framework.title)?;
    }
    deliver(framework, py, settled(framework, tensor)?)
}

/// Exports a tensor that meets the framework's constraints, or is read-only with leave to be
/// shared.
#[inline]
pub(super) fn deliver<'py>(
    framework: &Framework,
    py: Python<'py>,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    cuda::given_to(py, &tensor, &framework.streams)?;
    let made = match framework.export {
        Export::OurClass => own(py, tensor),
        Export::Tensor(make) => make(py, tensor),
        Export::Table(find, vendor) => {
            find(py).and_then(|table| make_by_table(py, table, vendor, tensor))
        }
        Export::Object(import) => {
            let dtype = tensor.dtype();
            importable(py, tensor).and_then(|object| import(py, object, dtype))
        }
        Export::LegacyCapsule { prepare, import } => {
            let dtype = tensor.dtype();
            let capsule = prepare(tensor)
                .map_err(PyErr::from)
                .and_then(|tensor| legacy_capsule(py, tensor));
            capsule.and_then(|capsule| import(py, capsule, dtype))
        }
    };
    made.map_err(|error| refusal::by_consumer(py, framework.name, error))
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

/// Exports a tensor by the exchange table of an object that it is to be like.
pub(super) fn by_table<'py>(
    py: Python<'py>,
    table: Table,
    vendor: &TableVendor,
    tensor: Tensor,
    conversion: &Conversion<'_, '_>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(framework) = vendor.framework
        && let Some(misfit) = unmet_need(framework, &tensor)
    {
        permit(misfit, py, conversion, framework.title)?;
    }
    make_by_table(py, table, vendor, tensor)
}

fn make_by_table<'py>(
    py: Python<'py>,
    table: Table,
    vendor: &TableVendor,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    cuda::given_by_table(py, &tensor, table, vendor)?;
    let made = (vendor.make)(py, table, tensor);
    made.map_err(|error| refusal::by_consumer(py, vendor.name, error))
}

/// Exports a tensor in a legacy capsule, which doesn't say whether memory is read-only.
fn legacy_capsule(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyCapsule>> {
    // SAFETY: read-only memory gets here for a framework that never writes to its tensors, or with
    // the policy's leave: then the Python program was told not to write through the result.
    let managed = unsafe { tensor.into_dlpack_unmarked::<Legacy>() }.map_err(Error::from)?;
    into_capsule(py, managed)
}

/// Exports a tensor as the object that a framework's own function takes. One that is read-only got
/// here with the policy's leave, or for a framework that copies it: neither is asked for again.
fn importable(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    match tensor.is_read_only() {
        true => Ok(Bound::new(py, Permitted::from(tensor))?.into_any()),
        false => own(py, tensor),
    }
}
