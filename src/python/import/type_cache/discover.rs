//! Discovery of a type's import path, by what can't be made up in plain Python.
//!
//! Only the type is asked, never the object, and no Python code runs: neither metaclass nor object
//! can answer one way now and another way later, or become something else in between. A framework's
//! type is known by its class made in C, which is among the base classes, and not by what a module
//! has under a name.

use super::path::{CachedPath, ImportPath};
use super::vendor_library;
use crate::dlpack::python::intern;
use crate::dlpack::python::{Table, type_lookup};
use crate::python::error::not_exchangeable;
use crate::python::frameworks::{Framework, OTHER, TableVendor, numpy, vendor_of_bases};
use crate::python::import::buffer;
use crate::python::tensor_object::PyTensor;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyTuple, PyType};
use std::ffi::c_void;

/// Finds the import path of a type's objects, and the framework whose own `__dlpack__` they have;
/// `None` for a type whose objects aren't tensors.
///
/// # Errors
///
/// A `BufferError` for a type whose objects' memory isn't their value.
pub(super) fn find(kind: &Bound<'_, PyType>) -> PyResult<Option<CachedPath>> {
    let py = kind.py();
    if kind.is(PyTensor::type_object(py)) {
        return found(ImportPath::Own, &OTHER);
    }
    if numpy::is_array_type(kind) {
        numpy::remember(kind);
        return found(ImportPath::Numpy, &OTHER);
    }
    if kind.is(PyCapsule::type_object(py)) {
        return found(ImportPath::Protocol, &OTHER);
    }
    let bases = Bases(type_lookup::mro(kind)?);
    let method = speaks_dlpack(kind);
    // What a class says itself goes before what a base class has for its own objects.
    let (vendor, own_method) = vendor_of_bases(bases.iter());
    let is_overridden = |depth: usize| {
        matches!(method, Method::At(at) | Method::None(at) if at < depth)
            || (vendor.overrides)(kind, own_method)
    };
    if let Some((depth, table)) = Table::find(kind)
        && !is_overridden(depth)
        && belongs(table, vendor)
    {
        return found(ImportPath::Table(table, vendor), vendor);
    }
    let Method::At(depth) = method else {
        return match matches!(method, Method::Missing) && buffer::has_buffer(kind) {
            true if numpy::is_special_scalar(bases.iter()) => found(ImportPath::Scalar, &OTHER),
            true => found(ImportPath::Buffer(false), &OTHER),
            false => Ok(None),
        };
    };
    bases.check_masks(kind, depth)?;
    // Of others that have both, it isn't known whether their buffers share memory.
    let shares = |class: &Bound<'_, PyType>| {
        Framework::of_type(class).is_some_and(|framework| framework.shares_buffers)
    };
    if shares(kind) && bases.at(depth).is_some_and(|class| shares(&class)) {
        return found(ImportPath::Buffer(true), &OTHER);
    }
    // A class that overrides the method answers for what it gives.
    let is_own = depth >= own_method;
    found(ImportPath::Protocol, if is_own { vendor } else { &OTHER })
}

fn found(path: ImportPath, vendor: &'static TableVendor) -> PyResult<Option<CachedPath>> {
    Ok(Some(CachedPath { path, vendor }))
}

/// Where in the method resolution order a type has `__dlpack__`.
enum Method {
    Missing,
    /// The class says `__dlpack__ = None`: that its objects don't speak DLPack.
    None(usize),
    At(usize),
}

fn speaks_dlpack(kind: &Bound<'_, PyType>) -> Method {
    match type_lookup::lookup(kind, intern!(kind.py(), "__dlpack__")) {
        None => Method::Missing,
        Some((depth, method)) if method.is_none() => Method::None(depth),
        Some((depth, _)) => Method::At(depth),
    }
}

/// Returns whether a table is for objects of a type: those of PyTorch and Paddle read the structs
/// of their own objects.
fn belongs(table: Table, vendor: &TableVendor) -> bool {
    // SAFETY: a table stays for good.
    let functions = unsafe { &*table.as_ptr() };
    let function = functions.managed_tensor_from_py_object_no_sync;
    let home = vendor_library::vendor_of(function.map_or(std::ptr::null(), |f| f as *const c_void));
    home.is(&OTHER) || home.is(vendor)
}

/// A type's method resolution order.
struct Bases<'py>(Bound<'py, PyTuple>);

impl<'py> Bases<'py> {
    fn at(&self, depth: usize) -> Option<Bound<'py, PyType>> {
        self.0.get_item(depth).ok()?.cast_into().ok()
    }

    fn iter(&self) -> impl Iterator<Item = Bound<'py, PyType>> {
        self.0.iter().filter_map(|base| base.cast_into().ok())
    }

    /// Refuses arrays with a mask, whose `__dlpack__` is NumPy's: it gives what is behind the mask,
    /// too.
    fn check_masks(&self, kind: &Bound<'py, PyType>, method: usize) -> PyResult<()> {
        let Some(array) = self.iter().position(|base| numpy::is_array_type(&base)) else {
            return Ok(());
        };
        let py = kind.py();
        let has = |name: &Bound<'py, PyString>| {
            type_lookup::lookup(kind, name).is_some_and(|(depth, _)| depth < array)
        };
        if method < array || !has(intern!(py, "mask")) || !has(intern!(py, "filled")) {
            return Ok(());
        }
        let name = type_lookup::type_name(kind).unwrap_or_default();
        Err(not_exchangeable(format!(
            "expected an array without a mask, got {name}, whose masked elements have no value; \
             pass x.filled(value), or x.data for all elements as they are in memory"
        )))
    }
}
