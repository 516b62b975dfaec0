//! [`Entrance`]: how tensors enter a framework that has an exchange table in its newer releases.

use crate::dlpack::python::{Table, into_capsule};
use crate::dlpack::{Legacy, Managed};
use crate::error::Error;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Makes an object of the framework of a legacy capsule.
pub(super) type ImportCapsule =
    for<'py> fn(Python<'py>, Bound<'py, PyCapsule>) -> PyResult<Bound<'py, PyAny>>;

/// The exchange table, or the function of a release without one.
#[derive(Clone, Copy)]
pub(in crate::python) enum Entrance {
    Table(Table),
    /// Takes a legacy capsule.
    Capsule(ImportCapsule),
}

impl Entrance {
    /// Makes an object of a tensor.
    #[inline(always)]
    pub(super) fn make_object<'py>(
        self,
        py: Python<'py>,
        tensor: Tensor,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Table(table) => table.make_object(py, tensor.into_dlpack()),
            Self::Capsule(import) => import(py, legacy_capsule(py, tensor)?),
        }
    }

    /// Makes an object of a tensor that an owner keeps.
    ///
    /// # Safety
    ///
    /// The owner keeps the tensor's memory.
    pub(super) unsafe fn make_object_kept_by<'py, O: Send + 'static>(
        self,
        py: Python<'py>,
        tensor: Tensor,
        owner: O,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Table(table) => {
                // SAFETY: the owner keeps the memory, by this function's contract.
                table.make_object(py, unsafe { tensor.export_kept_by(owner) })
            }
            Self::Capsule(import) => {
                // SAFETY: the owner keeps the memory, by this function's contract.
                let managed: Managed<Legacy> = unsafe { tensor.export_kept_by(owner) };
                import(py, into_capsule(py, managed)?)
            }
        }
    }
}

/// Exports a tensor in a legacy capsule, which doesn't say whether memory is read-only.
pub(in crate::python) fn legacy_capsule(
    py: Python<'_>,
    tensor: Tensor,
) -> PyResult<Bound<'_, PyCapsule>> {
    // SAFETY: read-only memory gets here for a framework that never writes to its tensors, or with
    // the policy's leave: then the Python program was told not to write through the result.
    let managed = unsafe { tensor.into_dlpack_unmarked::<Legacy>() }.map_err(Error::from)?;
    into_capsule(py, managed)
}
