//! PyTorch's own classes and module, reached from a tensor's type.
//!
//! Python code can replace what `sys.modules` holds, `torch.Tensor`, and attributes of any class
//! that is written in Python. It can't make or change a static C type, so everything here starts
//! from the one that all of PyTorch's tensors derive from, `torch._C.TensorBase`.

use crate::dlpack::python::{FoundOnce, intern};
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::not_exchangeable;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use pyo3::{Borrowed, ffi};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `torch._C.TensorBase`, once a tensor was seen. Static types stay.
static BASE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// The names that PyTorch's releases gave the type.
const BASE_NAMES: [&str; 2] = ["torch._C.TensorBase", "torch._C._TensorBase"];

/// Returns whether a type is PyTorch's tensor class, or derived from it.
#[inline]
pub(in crate::python) fn is_tensor_type(kind: *mut ffi::PyTypeObject) -> bool {
    let base = BASE.load(Ordering::Relaxed);
    if !base.is_null() {
        // SAFETY: both are types: one is an object's, the other static.
        return unsafe { ffi::PyType_IsSubtype(kind, base) } != 0;
    }
    // SAFETY: callers have an object of the type, and so are attached.
    find_base(unsafe { Borrowed::from_ptr(Python::assume_attached(), kind.cast()) }).is_some()
}

/// Returns the C type that a tensor class derives from. The chain of `tp_base` decides about an
/// object's layout, and isn't Python code's to change.
#[cold]
#[inline(never)]
fn find_base<'py>(kind: Borrowed<'_, 'py, PyAny>) -> Option<Bound<'py, PyType>> {
    let mut class = kind.to_owned().cast_into::<PyType>().ok()?;
    loop {
        // SAFETY: a static type.
        if class.as_type_ptr() == &raw mut ffi::PyBaseObject_Type {
            return None;
        }
        if is_static(&class) {
            let name = class.fully_qualified_name().ok()?;
            if BASE_NAMES.contains(&&*name.to_string_lossy()) {
                BASE.store(class.as_type_ptr(), Ordering::Relaxed);
                return Some(class);
            }
        }
        class = parent(&class)?;
    }
}

/// Returns whether a type was made by C code, as a variable of its library.
fn is_static(class: &Bound<'_, PyType>) -> bool {
    // SAFETY: a type.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
    flags & ffi::Py_TPFLAGS_HEAPTYPE == 0
}

fn parent<'py>(class: &Bound<'py, PyType>) -> Option<Bound<'py, PyType>> {
    // SAFETY: a type; the slot is NULL, or a type that this one keeps. `PyType_GetSlot` takes
    // static types from Python 3.10 on.
    unsafe {
        let parent = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_base);
        Bound::from_borrowed_ptr_or_opt(class.py(), parent.cast())?
            .cast_into()
            .ok()
    }
}

/// PyTorch's classes and functions, found once, and kept.
pub(super) struct Torch {
    /// The static C type.
    pub(super) base: Py<PyType>,
    /// `torch.Tensor`, as PyTorch's own functions make it.
    pub(super) class: Py<PyType>,
    pub(super) module: Py<PyModule>,
    /// `torch._C`
    pub(super) c: Py<PyAny>,
}

static TORCH: FoundOnce<Torch> = FoundOnce::new();

impl Torch {
    /// PyTorch, of which the object is a tensor.
    ///
    /// # Errors
    ///
    /// A `BufferError` where its module can't be found: then it can't be asked whether a tensor is
    /// a plain one.
    pub(super) fn of<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<&'py Self> {
        let py = object.py();
        TORCH.get_or_try_find(py, || Self::find(object))
    }

    fn find(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let kind = object.get_type();
        let base = find_base(kind.as_any().as_borrowed());
        let base = base.ok_or_else(|| not_exchangeable("expected a tensor of PyTorch"))?;
        // The class that is directly derived from it.
        let mut class = kind;
        while let Some(next) = parent(&class)
            && !next.is(&base)
        {
            class = next;
        }
        for module in [of_class(&class), of_modules(py)].into_iter().flatten() {
            let Ok(c) = module.getattr(intern!(py, "_C")) else {
                continue;
            };
            // Something else may be called that.
            let is_its = ["TensorBase", "_TensorBase"]
                .iter()
                .any(|name| c.getattr(*name).is_ok_and(|found| found.is(&base)));
            if is_its && let Ok(module) = module.cast_into::<PyModule>() {
                return Ok(Self {
                    base: base.unbind(),
                    class: class.unbind(),
                    module: module.unbind(),
                    c: c.unbind(),
                });
            }
        }
        Err(not_exchangeable(
            Incompatibility::from_reason(
                Kind::Exchange,
                "can't tell whether the tensor is a plain one, as the module torch isn't loaded",
            )
            .with_remedy("import it again"),
        ))
    }

    /// Runs a search whose calls none of PyTorch's modes sees.
    pub(super) fn without_modes<T>(
        &self,
        py: Python<'_>,
        search: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        let mut entered = Vec::new();
        // Releases may lack one of them: there the modes see the calls.
        let mut enter = |name| -> PyResult<()> {
            if let Some(guard) = self.c.bind(py).getattr_opt(name)? {
                let guard = guard.call0()?;
                guard.call_method0("__enter__")?;
                entered.push(guard);
            }
            Ok(())
        };
        let all = enter("_DisableTorchDispatch").and_then(|()| enter("DisableTorchFunction"));
        let found = all.and_then(|()| search());
        for guard in entered.into_iter().rev() {
            guard.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        }
        found
    }

    /// Calls one of the tensor class's own methods, whatever Python code has put in its place.
    pub(super) fn call<'py>(
        &self,
        object: Borrowed<'_, 'py, PyAny>,
        method: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        own_attribute(self.base.bind(object.py()), method)?.call1((object,))
    }
}

/// Returns the module that the functions of the class `torch.Tensor` were defined beside.
fn of_class<'py>(class: &Bound<'py, PyType>) -> Option<Bound<'py, PyAny>> {
    let py = class.py();
    let items = class
        .getattr(intern!(py, "__dict__"))
        .ok()?
        .call_method0("values")
        .ok()?;
    for item in items.try_iter().ok()?.flatten() {
        let globals = item.getattr_opt(intern!(py, "__globals__"));
        if let Ok(Some(globals)) = globals
            && let Ok(globals) = globals.cast_into::<PyDict>()
            && let Ok(Some(module)) = globals.get_item(intern!(py, "torch"))
        {
            return Some(module);
        }
    }
    None
}

fn of_modules(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    let modules = py
        .import(intern!(py, "sys"))
        .and_then(|sys| sys.getattr(intern!(py, "modules")));
    modules.ok()?.get_item(intern!(py, "torch")).ok()
}

/// Returns what a static type itself has under a name, which Python code can't change.
///
/// # Errors
///
/// An `AttributeError` where there is nothing, and a `BufferError` for a type that isn't static.
pub(super) fn own_attribute<'py>(
    class: &Bound<'py, PyType>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    if !is_static(class) {
        return Err(not_exchangeable(format!("{class} isn't a static type")));
    }
    class
        .getattr(intern!(class.py(), "__dict__"))?
        .get_item(name)
}

/// Returns the address of the C++ object that a tensor or storage of PyTorch stands for.
///
/// # Errors
///
/// When the object isn't one, or its class has no `_cdata` of its own.
pub(super) fn address_of(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let class = static_class(object.get_type())?;
    let getter = own_attribute(&class, "_cdata")?;
    // SAFETY: a static type.
    let is_getter = getter.get_type_ptr() == &raw mut ffi::PyGetSetDescr_Type;
    if !is_getter {
        return Err(not_exchangeable("_cdata isn't an attribute of the C type"));
    }
    getter
        .call_method1(intern!(object.py(), "__get__"), (object,))?
        .extract()
}

/// Returns the static type that a class derives from.
///
/// # Errors
///
/// A `BufferError` where there is none, as it isn't a class of PyTorch.
pub(super) fn static_class(mut class: Bound<'_, PyType>) -> PyResult<Bound<'_, PyType>> {
    while !is_static(&class) {
        class = parent(&class).ok_or_else(|| not_exchangeable("no class of PyTorch"))?;
    }
    Ok(class)
}
