//! Forward-mode automatic differentiation: dual tensors, whose memory is the primal alone.

use super::class::Torch;
use crate::dlpack::python::{FoundOnce, intern};
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::{Refused, not_exchangeable};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pyo3::{Borrowed, ffi};

/// The namespace of `torch.autograd.forward_ad`, and the name under which it has the current level;
/// `None` where the release has no forward mode.
struct Level {
    namespace: Py<PyDict>,
    name: Py<PyString>,
    /// -1, of which Python has one object: no level is entered, and so no tensor has a tangent.
    none: Py<PyAny>,
}

static LEVEL: FoundOnce<Option<Level>> = FoundOnce::new();

impl Level {
    fn find(py: Python<'_>, torch: &Torch) -> Option<Self> {
        let module = torch.module.bind(py);
        let module = module
            .getattr(intern!(py, "autograd"))
            .and_then(|autograd| autograd.getattr(intern!(py, "forward_ad")));
        let namespace = module.ok()?.cast_into::<PyModule>().ok()?.dict();
        Some(Self {
            namespace: namespace.unbind(),
            name: PyString::intern(py, "_current_level").unbind(),
            none: (-1i64).into_pyobject(py).ok()?.into_any().unbind(),
        })
    }
}

/// Refuses a tensor that has a tangent.
///
/// # Errors
///
/// A `BufferError` for a dual tensor, and what PyTorch raises.
#[inline]
pub(super) fn guard(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    let py = object.py();
    let level = match LEVEL.get(py) {
        Some(level) => level,
        None => {
            let torch = Torch::of(object)?;
            LEVEL.get_or_find(py, || Level::find(py, torch))
        }
    };
    let Some(Level {
        namespace,
        name,
        none,
    }) = level
    else {
        return Ok(());
    };
    // SAFETY: a dictionary and a string, which are kept. The result is borrowed from the
    // dictionary, and only compared. What comparing with other keys raised, `check` returns.
    let current = unsafe { ffi::PyDict_GetItemWithError(namespace.as_ptr(), name.as_ptr()) };
    if current == none.as_ptr() {
        return Ok(());
    }
    check(object, namespace.bind(py), name.bind(py))
}

#[cold]
fn check(
    object: Borrowed<'_, '_, PyAny>,
    namespace: &Bound<'_, PyDict>,
    name: &Bound<'_, PyString>,
) -> Result<(), Refused> {
    let py = object.py();
    if let Some(error) = PyErr::take(py) {
        return Err(error.into());
    }
    let Some(level) = namespace.get_item(name)? else {
        return Ok(());
    };
    if level.extract::<i64>().is_ok_and(|level| level < 0) {
        return Ok(());
    }
    let torch = Torch::of(object)?;
    if !has_strides(object, torch)? {
        return Ok(());
    }
    let functions = torch.c.bind(py).getattr("_VariableFunctions")?;
    let keywords = PyDict::new(py);
    keywords.set_item("level", level)?;
    let unpacked = functions.call_method("_unpack_dual", (object,), Some(&keywords))?;
    if unpacked.get_item(1)?.is_none() {
        return Ok(());
    }
    Err(not_exchangeable(
        Incompatibility::from_reason(
            Kind::RequiresGrad,
            "the tensor has a tangent (forward-mode automatic differentiation), which its memory doesn't hold",
        )
        .with_remedy("pass torch.autograd.forward_ad.unpack_dual(tensor).primal"),
    )
    .into())
}

/// Whether a tensor's elements are one piece of memory. Of others, such as sparse ones, PyTorch
/// can't tell the tangent, and they are refused for what they are.
fn has_strides(object: Borrowed<'_, '_, PyAny>, torch: &Torch) -> PyResult<bool> {
    let py = object.py();
    let of_base = |name: &str| {
        let attribute = torch.base.bind(py).getattr(name)?;
        attribute.call_method1("__get__", (object,))
    };
    let strided = torch.module.bind(py).getattr("strided")?;
    Ok(of_base("layout")?.is(&strided) && !of_base("is_nested")?.is_truthy()?)
}
