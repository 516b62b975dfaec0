//! PyTorch's grad mode: whether autograd records what functions do on this thread.
//!
//! It is off under `torch.no_grad()` and `torch.inference_mode()`. It is read only where autograd
//! follows a tensor: by the function of PyTorch's library, or else by the one of its module.

use super::class::Torch;
use super::library::Library;
use super::probed::Probed;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::ffi::c_void;

/// `static bool c10::GradMode::is_enabled()`
type IsEnabled = unsafe extern "C" fn() -> bool;

/// Its name in `libc10.so`, by the C++ ABI of Linux and macOS.
const IS_ENABLED: &str = "_ZN3c108GradMode10is_enabledEv";

static FOUND: Probed<IsEnabled> = Probed::new();

/// Returns whether autograd is on, for this thread.
///
/// # Errors
///
/// What PyTorch raises.
pub(super) fn is_enabled(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let found = FOUND.get().or_else(|| FOUND.find(|| find(object)));
    match found {
        // SAFETY: the function was found under its C++ name in PyTorch's library, and answered
        // as the module does.
        Some(is_enabled) => Ok(unsafe { is_enabled() }),
        None => by_module(object.py(), Torch::of(object)?),
    }
}

fn by_module(py: Python<'_>, of: &Torch) -> PyResult<bool> {
    of.c.bind(py).call_method0("is_grad_enabled")?.extract()
}

/// Returns the library's function, if it answers as the module does; `None` where it isn't there.
fn find(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<IsEnabled>> {
    let py = object.py();
    let of = Torch::of(object)?;
    if cfg!(windows) {
        return Ok(None);
    }
    let Some(library) = Library::loaded(py, of, "c10")? else {
        return Ok(None);
    };
    let Some(function) = library.function(IS_ENABLED)? else {
        return Ok(None);
    };
    // SAFETY: a static C++ member function without arguments is called, by the ABI that gives it
    // this name, as a C function.
    let function = unsafe { std::mem::transmute::<*mut c_void, IsEnabled>(function) };
    // SAFETY: it is a C function without arguments, as its C++ name says.
    let agrees = unsafe { function() } == by_module(py, of)?;
    Ok(agrees.then_some(function))
}
