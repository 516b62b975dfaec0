//! [`ClassTable`]: the exchange table of a framework's class `Tensor`.

use crate::dlpack::python::{FoundOnce, Table, intern};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The exchange table of the class `Tensor` of a framework, which older releases don't have.
pub(in crate::python) struct ClassTable {
    module: &'static str,
    known: FoundOnce<Table>,
}

impl ClassTable {
    pub(super) const fn new(module: &'static str) -> Self {
        Self {
            module,
            known: FoundOnce::new(),
        }
    }

    /// Returns the table, if it was found before.
    #[inline]
    pub(in crate::python) fn known(&self, py: Python<'_>) -> Option<Table> {
        self.known.get(py).copied()
    }

    /// Returns the table; `None` for a release without one. A table is looked up once, a missing
    /// one each time: another package may add it.
    #[inline]
    pub(in crate::python) fn find(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        match self.known(py) {
            Some(table) => Ok(Some(table)),
            None => self.look_up(py),
        }
    }

    #[cold]
    fn look_up(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let kind = py.import(self.module)?.getattr(intern!(py, "Tensor"))?;
        let found = Table::of_type(kind.cast::<PyType>()?);
        Ok(found.map(|table| *self.known.get_or_find(py, || table)))
    }

    /// Returns whether the installed release has none.
    pub(super) fn is_missing(&self, py: Python<'_>) -> PyResult<bool> {
        match self.find(py) {
            Ok(found) => Ok(found.is_none()),
            // That nothing is installed says nothing of releases.
            Err(error) if error.is_instance_of::<PyImportError>(py) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
