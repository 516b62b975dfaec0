//! The table of frameworks: one row for each, in a file that has all that is known of it.
//!
//! A framework is added by its file and its line in [`FRAMEWORKS`]; the code elsewhere asks the
//! rows.

mod absent;
mod class_table;
mod common;
pub(super) mod constraints;
mod cupy;
mod dlbridge;
mod dtypes;
mod entrance;
mod jax;
#[cfg(test)]
mod made_up;
mod mlx;
mod mxnet;
#[cfg(feature = "cuda")]
mod numba;
pub(super) mod numpy;
mod onnxruntime;
mod paddle;
mod pyarrow;
mod row_type;
pub(super) mod tensorflow;
pub(super) mod torch;
mod tried;
mod tvm;
mod tvm_ffi;

use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::unknown_name;
pub(super) use common::root_module;
pub(super) use entrance::{Entrance, legacy_capsule};
#[cfg(feature = "cuda")]
use pyo3::Borrowed;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
#[cfg(feature = "cuda")]
pub(super) use row_type::CurrentStream;
pub(super) use row_type::{CapsuleMethods, Export, Framework, OTHER, Streams, TableVendor, Time};
pub(super) use tried::Question;

/// All frameworks, in the order in which error messages list them.
static FRAMEWORKS: &[&Framework] = &[
    &dlbridge::ROW,
    &numpy::ROW,
    &torch::ROW,
    &jax::ROW,
    &tensorflow::ROW,
    &paddle::ROW,
    &mlx::ROW,
    &cupy::ROW,
    &pyarrow::ROW,
    &tvm::ROW,
    &tvm_ffi::ROW,
    &mxnet::ROW,
    &onnxruntime::ROW,
    #[cfg(test)]
    &made_up::ROW,
];

/// The framework of host arrays that Python code asks for with `__array__`.
pub(super) static NUMPY: &Framework = &numpy::ROW;

impl Framework {
    /// Returns the framework of this name.
    ///
    /// # Errors
    ///
    /// A `LookupError` for another name.
    pub(super) fn named(name: &str) -> PyResult<&'static Self> {
        let found = FRAMEWORKS.iter().find(|framework| framework.name == name);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = FRAMEWORKS.iter().map(|framework| framework.name).collect();
            let error = Incompatibility::new(Kind::Name, name.to_owned(), "a framework's name")
                .with_reason(format!("no framework is called {name:?}"))
                .with_remedy(format!("there are {}", names.join(", ")));
            unknown_name(error)
        })
    }

    /// Returns the framework that a package belongs to.
    #[cold]
    pub(super) fn of_package(package: &str) -> Option<&'static Self> {
        let has_it = |framework: &&&Self| framework.packages.contains(&package);
        FRAMEWORKS.iter().find(has_it).copied()
    }

    /// Returns the framework that a type says that it is from.
    #[cold]
    pub(super) fn of_type(kind: &Bound<'_, PyType>) -> Option<&'static Self> {
        Self::of_package(&root_module(kind))
    }
}

/// Returns what users call the framework that a type is from; for other types, their own name.
#[cold]
pub(super) fn title_of(kind: &Bound<'_, PyType>) -> PyResult<String> {
    Ok(match Framework::of_type(kind) {
        Some(framework) => framework.title.to_owned(),
        None => kind.fully_qualified_name()?.to_string(),
    })
}

fn vendors() -> impl Iterator<Item = &'static TableVendor> {
    FRAMEWORKS.iter().filter_map(|framework| framework.vendor)
}

/// Returns the vendor whose class is among the base classes of a type, and at which of them the
/// vendor's own methods begin. Python makes sure that an object of a class that is derived from a
/// class made in C, or lists it in its order, has its layout.
pub(super) fn vendor_of_bases<'py>(
    bases: impl Iterator<Item = Bound<'py, PyType>>,
) -> (&'static TableVendor, usize) {
    for (depth, base) in bases.enumerate() {
        for vendor in vendors() {
            if let Some(before) = (vendor.recognise)(&base) {
                return (vendor, depth.saturating_sub(before));
            }
        }
    }
    (&OTHER, 0)
}

/// Returns the vendor whose C struct the objects of a type have.
pub(super) fn vendor_of_layout(kind: *mut ffi::PyTypeObject) -> Option<&'static TableVendor> {
    vendors().find(|vendor| (vendor.has_layout)(kind))
}

/// Returns the vendor whose library has this file name.
pub(super) fn vendor_of_library(file: &str) -> &'static TableVendor {
    let name = file.strip_prefix("lib").unwrap_or(file);
    let found = vendors().find(|vendor| {
        vendor
            .library
            .is_some_and(|library| name.starts_with(library))
    });
    found.unwrap_or(&OTHER)
}

/// Returns the object of another library that keeps the stream of this handle, for an array that
/// only says the handle.
#[cfg(feature = "cuda")]
pub(super) fn stream_object<'py>(
    array: Borrowed<'_, 'py, PyAny>,
    handle: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    numba::stream_object(array, handle)
}
