//! Finding a type's lane: by what can't be made up in plain Python.
//!
//! Only the type is asked, never the object, and no Python code runs: neither metaclass nor object can answer one
//! way now and another way later, or become something else in between. A framework's type is known by its class
//! made in C, which is among the base classes, and not by what a module has under a name.

use super::library;
use super::{Lane, Maker};
use crate::dlpack::python::{Table, type_lookup};
use crate::python::class::PyTensor;
use crate::python::error::not_exchangeable;
use crate::python::frameworks::numpy;
use crate::python::import::buffer;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyCapsule, PyString, PyTuple, PyType};
use pyo3::{PyTypeInfo, intern};
use std::ffi::c_void;

/// The lane of a type's objects, and the framework whose own `__dlpack__` they have; `None` for a type that is no tensor's.
///
/// # Errors
///
/// A `BufferError` for a type whose objects' memory isn't their value.
pub(super) fn find(kind: &Bound<'_, PyType>) -> PyResult<Option<(Lane, Maker)>> {
    let py = kind.py();
    if kind.is(PyTensor::type_object(py)) {
        return Ok(Some((Lane::Own, Maker::Other)));
    }
    if numpy::is_array_type(kind) {
        numpy::remember(kind);
        return Ok(Some((Lane::Numpy, Maker::Other)));
    }
    if kind.is(PyCapsule::type_object(py)) {
        return Ok(Some((Lane::Protocol, Maker::Other)));
    }
    let bases = Bases(type_lookup::mro(kind)?);
    let method = speaks_dlpack(kind);
    // What a class says itself goes before what a base class has for its own objects.
    let (maker, own_method) = bases.maker();
    let is_overridden = |depth: usize| {
        matches!(method, Method::At(at) | Method::None(at) if at < depth)
            || maker == Maker::Torch && overrides_functions(kind, own_method)
    };
    if let Some((depth, table)) = Table::find(kind)
        && !is_overridden(depth)
        && belongs(table, maker)
    {
        return Ok(Some((Lane::Table(table, maker), maker)));
    }
    let Method::At(depth) = method else {
        let has_buffer = matches!(method, Method::Missing) && buffer::has_buffer(kind);
        return Ok(has_buffer.then_some((Lane::Buffer(false), Maker::Other)));
    };
    bases.check_masks(kind, depth)?;
    // Of others that have both, it isn't known whether their buffers share memory.
    let shares = |class: &Bound<'_, PyType>| {
        ["jax", "jaxlib", "tensorflow", "mlx"].contains(&root_module(class).as_str())
    };
    if shares(kind) && bases.at(depth).is_some_and(|class| shares(&class)) {
        return Ok(Some((Lane::Buffer(true), Maker::Other)));
    }
    // A class that overrides the method answers for what it gives.
    let maker = if depth >= own_method {
        maker
    } else {
        Maker::Other
    };
    Ok(Some((Lane::Protocol, maker)))
}

/// Returns whether a class derived from PyTorch's has a `__torch_function__` of its own, which PyTorch's `__dlpack__` asks
/// and its table passes by. `torch.nn.Parameter` has the one that does nothing.
fn overrides_functions(kind: &Bound<'_, PyType>, own: usize) -> bool {
    let py = kind.py();
    let found = type_lookup::lookup(kind, intern!(py, "__torch_function__"));
    found.is_some_and(|(depth, function)| depth < own && !does_nothing(&function))
}

/// Whether a function is `torch._C._disabled_torch_function_impl`.
fn does_nothing(function: &Bound<'_, PyAny>) -> bool {
    let Ok(function) = function.cast_exact::<PyCFunction>() else {
        return false;
    };
    let name = function.getattr(intern!(function.py(), "__name__"));
    name.is_ok_and(|name| {
        name.cast::<PyString>()
            .is_ok_and(|name| name.to_string_lossy() == "_disabled_torch_function_impl")
    })
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

/// Whether a table is for objects of a type: those of PyTorch and Paddle read the structs of their own objects.
fn belongs(table: Table, maker: Maker) -> bool {
    // SAFETY: a table stays for good.
    let functions = unsafe { &*table.as_ptr() };
    let function = functions.managed_tensor_from_py_object_no_sync;
    let home = library::maker_of(function.map_or(std::ptr::null(), |f| f as *const c_void));
    home == Maker::Other || home == maker
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

    /// The framework whose C class is among the base classes, and where the framework's own methods begin. Python makes
    /// sure that an object of a class that is derived from such a class, or lists it in its order, has its layout.
    fn maker(&self) -> (Maker, usize) {
        for (depth, base) in self.iter().enumerate() {
            if is_torch(&base) {
                // `torch.Tensor` is a Python class, derived from the one that was made in C.
                return (Maker::Torch, depth.saturating_sub(1));
            }
            if goes_by_torch(&base) {
                return (Maker::Torch, depth);
            }
            if is_paddle(&base) {
                return (Maker::Paddle, depth);
            }
        }
        (Maker::Other, 0)
    }

    /// Refuses arrays with a mask, whose `__dlpack__` is NumPy's: it gives what is behind the mask, too.
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

/// The class that all tensors of PyTorch are derived from. It was called `_TensorBase` before 2.1.
fn is_torch(kind: &Bound<'_, PyType>) -> bool {
    let is = |name| type_lookup::is_c_type(kind, "torch._C", name);
    is("TensorBase") || is("_TensorBase")
}

/// A class that only has the name of PyTorch's: its objects are asked what their memory means, and never read as C structs.
fn goes_by_torch(kind: &Bound<'_, PyType>) -> bool {
    type_lookup::module_name(kind).as_deref() == Some("torch")
        && type_lookup::type_name(kind).as_deref() == Some("Tensor")
}

/// Paddle's class of tensors: made in C, though Python code can change it.
fn is_paddle(kind: &Bound<'_, PyType>) -> bool {
    type_lookup::has_c_getter(kind, intern!(kind.py(), "stop_gradient"))
        && root_module(kind) == "paddle"
}

/// The first part of the name of the module that a type says it is from.
pub(in crate::python) fn root_module(kind: &Bound<'_, PyType>) -> String {
    let module = type_lookup::module_name(kind).unwrap_or_default();
    module.split('.').next().unwrap_or_default().to_owned()
}
