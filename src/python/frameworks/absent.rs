//! Frameworks that aren't installed.

use super::row_type::{Export, Framework};
use crate::dlpack::python::intern;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::{is_final, not_installed};
use pyo3::exceptions::PyModuleNotFoundError;
use pyo3::prelude::*;

impl Framework {
    fn absence(&self) -> Incompatibility {
        let package = self.packages.first().copied().unwrap_or(self.name);
        Incompatibility::new(Kind::Name, package, self.title)
            .with_reason(format!("{} isn't installed", self.title))
            .with_remedy(format!("install the package {package}"))
    }

    /// Returns why no tensor can be handed to it, where none of its packages can be imported.
    #[cold]
    pub(in crate::python) fn absent(&self, py: Python<'_>) -> PyResult<Option<Incompatibility>> {
        if matches!(self.export, Export::OurClass) {
            return Ok(None);
        }
        let modules = py
            .import(intern!(py, "sys"))?
            .getattr(intern!(py, "modules"))?;
        let find = py.import(intern!(py, "importlib.util"))?;
        let find = find.getattr(intern!(py, "find_spec"))?;
        for package in self.packages {
            let is_there = modules.contains(*package)?
                || match find.call1((*package,)) {
                    Ok(spec) => !spec.is_none(),
                    Err(error) if is_final(py, &error) => return Err(error),
                    // Of what is odd, importing it may succeed.
                    Err(_) => true,
                };
            if is_there {
                return Ok(None);
            }
        }
        Ok(Some(self.absence()))
    }

    /// Returns an exception with fields, if it says that a package of this framework isn't there.
    #[cold]
    pub(in crate::python) fn with_absence(&self, py: Python<'_>, error: PyErr) -> PyErr {
        if !error.is_instance_of::<PyModuleNotFoundError>(py) {
            return error;
        }
        let name = error.value(py).getattr(intern!(py, "name"));
        let name = name
            .and_then(|name| name.extract::<String>())
            .unwrap_or_default();
        if !self.packages.contains(&&*name) {
            return error;
        }
        let new = not_installed(self.absence());
        let _ = new.value(py).setattr(intern!(py, "name"), name);
        new.set_cause(py, Some(error));
        new
    }
}
