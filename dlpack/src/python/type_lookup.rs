//! Attributes of a type, read from the dictionaries of its base classes as C code reads them.
//!
//! `getattr(type, name)` asks the metaclass first, which may be a Python class that answers
//! anything, runs any code, and changes the object's class meanwhile. What decides how memory is
//! read must not depend on it: here only the method resolution order and the dictionaries of `type`
//! itself are used, through C descriptors that can't be replaced.

use crate::python::{FoundOnce, intern};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use pyo3::{PyTypeInfo, ffi};
use std::ffi::{c_ulong, c_void};

/// `Py_TPFLAGS_IMMUTABLETYPE`: set for types made in C whose attributes Python code can't change,
/// and that can't be made by Python code.
const IMMUTABLE: c_ulong = 1 << 8;

/// A C attribute of the class `type`.
struct Descriptor {
    object: Py<PyAny>,
    get: ffi::descrgetfunc,
}

impl Descriptor {
    fn new(py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Self> {
        let class = py.get_type::<PyType>();
        // The class of `type` is `type`, so this is its own dictionary.
        let object = class
            .getattr(intern!(py, "__dict__"))?
            .get_item(name)?
            .unbind();
        Self::of(py, object)
    }

    /// # Errors
    ///
    /// A `TypeError` if the object isn't a descriptor.
    fn of(py: Python<'_>, object: Py<PyAny>) -> PyResult<Self> {
        // SAFETY: the object is a type, whose slot holds NULL or a function of this signature.
        let get = unsafe {
            let kind = object.bind(py).get_type_ptr();
            let slot = ffi::PyType_GetSlot(kind, ffi::Py_tp_descr_get);
            std::mem::transmute::<*mut c_void, Option<ffi::descrgetfunc>>(slot)
        };
        let get = get.ok_or_else(|| {
            pyo3::exceptions::PyTypeError::new_err("expected a descriptor of the class type")
        })?;
        Ok(Self { object, get })
    }

    fn get<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let kind = object.get_type_ptr().cast();
        // SAFETY: the descriptor's own function, which checks the object's type; the answer is a
        // new reference.
        unsafe {
            let answer = (self.get)(self.object.as_ptr(), object.as_ptr(), kind);
            Bound::from_owned_ptr_or_err(object.py(), answer)
        }
    }
}

/// Reads a C attribute of the class `type`, such as `__mro__`, whatever the type's metaclass says.
macro_rules! attribute_of_type {
    ($kind:expr, $name:literal) => {{
        static DESCRIPTOR: FoundOnce<Descriptor> = FoundOnce::new();
        let py = $kind.py();
        DESCRIPTOR
            .get_or_try_find(py, || Descriptor::new(py, intern!(py, $name)))
            .and_then(|descriptor| descriptor.get($kind.as_any()))
    }};
}

/// Returns the method resolution order of a type.
///
/// # Errors
///
/// A `TypeError` for a type that is not finished.
pub fn mro<'py>(kind: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyTuple>> {
    let mro = attribute_of_type!(kind, "__mro__")?;
    mro.cast_into::<PyTuple>().map_err(|_| {
        let name = type_name(kind).unwrap_or_default();
        pyo3::exceptions::PyTypeError::new_err(format!(
            "expected an object of a finished type, got one of {name}, which has no method \
             resolution order; call PyType_Ready for the type, or read an attribute of the object"
        ))
    })
}

/// Looks an attribute up in the dictionaries of a type and its base classes. Returns it as it is
/// there, unbound, with the position in the method resolution order of the class that has it.
///
/// Runs no Python code, unless keys of such a dictionary aren't plain strings.
pub fn lookup<'py>(
    kind: &Bound<'py, PyType>,
    name: &Bound<'py, PyString>,
) -> Option<(usize, Bound<'py, PyAny>)> {
    let mro = mro(kind).ok()?;
    for (depth, base) in mro.iter().enumerate() {
        // `mro()` of a metaclass may list types alone.
        let base = base.cast_into::<PyType>().ok()?;
        if let Some(found) = lookup_in(&base, name) {
            return Some((depth, found));
        }
    }
    None
}

/// Looks an attribute up in the dictionary of a type itself.
pub fn lookup_in<'py>(
    kind: &Bound<'py, PyType>,
    name: &Bound<'py, PyString>,
) -> Option<Bound<'py, PyAny>> {
    let dictionary = attribute_of_type!(kind, "__dict__").ok()?;
    match dictionary.contains(name) {
        Ok(true) => dictionary.get_item(name).ok(),
        _ => None,
    }
}

/// Returns the name of the module that a type says it is from. Python code can set that of a class
/// of its own.
pub fn module_name(kind: &Bound<'_, PyType>) -> Option<String> {
    let name = attribute_of_type!(kind, "__module__").ok()?;
    let name = name.cast_into::<PyString>().ok()?;
    Some(name.to_string_lossy().into_owned())
}

/// Returns the name that a type says it has. Python code can set that of a class of its own.
pub fn type_name(kind: &Bound<'_, PyType>) -> Option<String> {
    let name = attribute_of_type!(kind, "__name__").ok()?;
    let name = name.cast_into::<PyString>().ok()?;
    Some(name.to_string_lossy().into_owned())
}

/// Returns what a type is called in messages, whatever its metaclass says: module and name, unless
/// it is a builtin.
pub fn qualified_name(kind: &Bound<'_, PyType>) -> String {
    let name = attribute_of_type!(kind, "__qualname__").ok();
    let name = name.and_then(|name| {
        Some(
            name.cast_into::<PyString>()
                .ok()?
                .to_string_lossy()
                .into_owned(),
        )
    });
    let name = name.unwrap_or_else(|| "object".to_owned());
    match module_name(kind) {
        Some(module) if module != "builtins" => format!("{module}.{name}"),
        _ => name,
    }
}

/// Returns the size of a type's objects, in bytes.
pub fn basic_size(kind: &Bound<'_, PyType>) -> Option<usize> {
    attribute_of_type!(kind, "__basicsize__")
        .ok()?
        .extract()
        .ok()
}

/// Returns whether a type was made in C, and Python code can neither change it nor make one like
/// it. The name and the module of such a type are true.
pub fn is_immutable(kind: &Bound<'_, PyType>) -> bool {
    let is_immutable = |kind| {
        // SAFETY: the type is alive, as there is a reference to it.
        let flags = unsafe { ffi::PyType_GetFlags(kind) };
        flags & IMMUTABLE != 0
    };
    // The metaclass decides what a class does when it is called, or compared.
    is_immutable(kind.as_type_ptr()) && is_immutable(kind.get_type_ptr())
}

/// Returns whether a type is the C type of this name: unlike a name alone, a promise about the
/// layout of its objects.
pub fn is_c_type(kind: &Bound<'_, PyType>, module: &str, name: &str) -> bool {
    is_immutable(kind)
        && type_name(kind).as_deref() == Some(name)
        && module_name(kind).as_deref() == Some(module)
}

/// Returns whether the class was made in C with a computed attribute of this name: a descriptor
/// that Python code can't make, and that belongs to one class.
pub fn has_c_getter(kind: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> bool {
    let py = kind.py();
    let Some(attribute) = lookup_in(kind, name) else {
        return false;
    };
    // SAFETY: Python's static types are always alive.
    let is_getter = attribute.get_type_ptr() == &raw mut ffi::PyGetSetDescr_Type;
    is_getter
        && attribute
            .getattr(intern!(py, "__objclass__"))
            .is_ok_and(|class| class.is(kind))
}

/// Has Python give the type a version tag, where it can have one: looks an attribute up that no
/// type has.
pub fn assign_version_tag(kind: &Bound<'_, PyType>) {
    let py = kind.py();
    // SAFETY: `type` is a type, whose slot holds a function of this signature.
    let get = unsafe {
        let slot = ffi::PyType_GetSlot(PyType::type_object_raw(py), ffi::Py_tp_getattro);
        std::mem::transmute::<*mut c_void, Option<ffi::getattrofunc>>(slot)
    };
    let Some(get) = get else { return };
    let name = intern!(py, "__dlbridge_version_tag__");
    // SAFETY: an object of `type`'s, or of a class derived from it, and a string. What comes is a
    // new reference, or an error.
    let answer = unsafe { Bound::from_owned_ptr_or_err(py, get(kind.as_ptr(), name.as_ptr())) };
    // There is no such attribute.
    drop(answer);
}
