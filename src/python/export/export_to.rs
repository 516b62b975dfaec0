//! Checked exports: a tensor becomes an object of a framework, if that can have it.

use super::conversion::Conversion;
use super::deliver::{deliver, deliver_by, make_by_table, settled};
use super::misfit::{misfit, permit, unmet_need};
use crate::dlpack::python::Table;
use crate::python::frameworks::{Export, Framework, TableVendor};
use crate::tensor::Tensor;
use pyo3::prelude::*;

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
    match export_sure(framework, py, tensor) {
        Ok(made) => made,
        Err(tensor) => export_asked(framework, py, tensor, conversion),
    }
}

// Apart from what most tensors take, which needs fewer registers.
#[inline(never)]
fn export_asked<'py>(
    framework: &Framework,
    py: Python<'py>,
    tensor: Tensor,
    conversion: &Conversion<'_, '_>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(misfit) = misfit(framework, py, &tensor)? {
        permit(misfit, py, conversion, framework.title)?;
    }
    deliver(framework, py, settled(framework, tensor)?)
}

/// Exports a tensor of which there is nothing to ask, as of most; gives others back.
#[inline(always)]
pub(super) fn export_sure<'py>(
    framework: &Framework,
    py: Python<'py>,
    tensor: Tensor,
) -> Result<PyResult<Bound<'py, PyAny>>, Tensor> {
    if !(framework.surely_has)(&tensor) || tensor.is_empty() {
        return Err(tensor);
    }
    match framework.export {
        // What is tried are releases without a table.
        Export::Table { table, vendor, .. } => match table.known(py) {
            Some(table) => Ok(make_by_table(py, table, vendor, tensor)),
            None => Err(tensor),
        },
        Export::Tensor(make) if framework.tried.is_none() => {
            Ok(deliver_by(framework, py, tensor, make))
        }
        _ => Err(tensor),
    }
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
