//! Checked exports: a tensor becomes an object of a framework, if that can have it.

use super::conversion::Conversion;
use super::deliver::{deliver, make_by_table, settled};
use super::misfit::{misfit, permit, unmet_need};
use crate::dlpack::python::Table;
use crate::python::frameworks::{Framework, TableVendor};
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
    if let Some(misfit) = misfit(framework, py, &tensor)? {
        permit(misfit, py, conversion, framework.title)?;
    }
    deliver(framework, py, settled(framework, tensor)?)
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
