//! Ops as Python functions, whose arguments and results are tensors of any framework.

mod attribute;
mod bind;
mod describe;
#[cfg(all(feature = "hosts", unix))]
mod hosts;
mod invoke;
mod kernel_rows;
mod publish;
mod recorder;
mod retry;
mod threads;
#[cfg(all(feature = "hosts", unix))]
mod universal;

pub use kernel_rows::kernel_rows;
pub use publish::publish_ops;
pub use recorder::PyRecorder;
pub use threads::{num_threads, set_num_threads};

use super::PyDType;
use super::attach::release_what_was_dropped;
use super::builtin::builtin;
use super::error::unknown_name;
use crate::dtype::DType;
use crate::kernel::{OpHandle, PartialShape, Registry, nearest};
use bind::Names;
use pyo3::Borrowed;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::ffi;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// An op. The functions in `dlbridge.ops` have it as their `__self__`.
#[pyclass(frozen, name = "Op", module = "dlbridge")]
pub struct PyOp {
    handle: OpHandle,
    names: Names,
}

impl fmt::Debug for PyOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PyOp").field(&self.handle).finish()
    }
}

#[pymethods]
impl PyOp {
    /// Returns the name.
    #[getter]
    fn name(&self) -> &str {
        self.handle.name()
    }

    /// Returns what it takes and gives, as in "add(a: T, b: T) -> out: T".
    #[getter]
    fn signature(&self) -> String {
        self.handle.definition().signature()
    }

    /// Returns what it does.
    #[getter]
    fn doc(&self) -> &str {
        self.handle.definition().documentation()
    }

    /// Its kernels: a dict for each device, label, priority and origin.
    fn kernels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        kernel_rows::rows(py, &self.handle.kernels())
    }

    /// The definition as data, for adapters of frameworks: see ARCHITECTURE.md.
    fn _describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        describe::describe(py, &self.handle)
    }

    /// The shapes and dtypes of the results of a call, of a list of shapes and dtypes for each
    /// input, and attributes by name.
    #[pyo3(signature = (inputs, attributes))]
    fn _infer(
        &self,
        inputs: Vec<Vec<(Vec<usize>, DType)>>,
        attributes: &Bound<'_, PyDict>,
    ) -> PyResult<Vec<(Vec<usize>, PyDType)>> {
        describe::infer(&self.handle, &inputs, attributes)
    }

    /// As `_infer`, where None stands for a size, or a whole shape, that isn't known.
    fn _infer_partial(
        &self,
        inputs: Vec<Vec<(PartialShape, DType)>>,
        attributes: &Bound<'_, PyDict>,
    ) -> PyResult<Vec<(PartialShape, PyDType)>> {
        describe::infer_partial(&self.handle, &inputs, attributes)
    }

    /// Checks that there is a kernel for a call on the CPU, of a list of ranks and dtypes for each
    /// input and output.
    fn _check_kernel(
        &self,
        arguments: Vec<Vec<(usize, DType)>>,
        attributes: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        describe::check_kernel(&self.handle, &arguments, attributes)
    }

    /// The values of all attributes, by name: those that are given, as a call reads them, and the
    /// others' defaults.
    fn _attributes<'py>(&self, given: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        describe::read(&self.handle, given)
    }

    fn __repr__(&self) -> String {
        format!("<op {}>", self.signature())
    }

    /// Its function under its own name, by which Python pickles what is of an object.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.handle.name().rsplit('.').next() == Some(name) {
            true => op_function(py, &self.handle),
            false => Err(PyAttributeError::new_err(format!(
                "'dlbridge.Op' object has no attribute '{name}'"
            ))),
        }
    }

    /// By its name, which the other process must know.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str,))> {
        let catalog = py.import("dlbridge._catalog")?;
        Ok((catalog.getattr("op_of")?, (self.handle.name(),)))
    }
}

/// Returns an op of a registry as a Python function. It is a built-in one, with a signature, a doc
/// string, and a [`PyOp`] as its `__self__`.
///
/// # Errors
///
/// When Python has no memory for it, or a text has a zero in it.
pub fn op_function<'py>(py: Python<'py>, handle: &OpHandle) -> PyResult<Bound<'py, PyAny>> {
    let op = PyOp {
        handle: handle.clone(),
        names: Names::of(py, handle),
    };
    let text = (handle.name(), documentation(py, handle));
    let module = PyString::new(py, "dlbridge.ops");
    builtin(text, call, Bound::new(py, op)?.as_any(), &module)
}

/// Returns the known name that is nearest to an unknown one, if most letters are the same.
pub fn nearest_name<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    nearest(name, known)
}

/// Returns the function of the op of this name in the global registry.
///
/// # Errors
///
/// When there is no such op; and the same as for [`op_function`].
pub fn op_named<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    match Registry::global().op(name) {
        Ok(handle) => op_function(py, &handle),
        Err(error) => Err(unknown_name(error.to_string())),
    }
}

/// Returns the docstring, whose first lines Python reads as the signature.
fn documentation(py: Python<'_>, handle: &OpHandle) -> String {
    let op = handle.definition();
    let mut text = format!("{}(", handle.name().rsplit('.').next().unwrap_or_default());
    for (at, (name, reads, _)) in op.parameters().enumerate() {
        if reads {
            text += if op.variadic() == Some(at) { "*" } else { "" };
            text += name;
            text += if op.is_optional(at) { "=None" } else { "" };
            text += ", ";
        }
    }
    // What comes after `*xs` is named.
    match op.variadic() {
        Some(_) => text.truncate(text.len() - ", ".len()),
        None => text += "*",
    }
    for (name, _, default) in op.attributes() {
        text += ", ";
        text += name;
        if let Some(default) = default {
            text += &format!("={}", attribute::literal(py, default));
        }
    }
    let has_outputs = op.parameters().any(|(_, reads, _)| !reads);
    text += if has_outputs { ", out=None" } else { "" };
    text += ", like=None, label='', memory='own', threads=None)\n--\n\n";
    text += op.documentation();
    text += &format!("\n\n{}", op.signature());
    text
}

/// Returns the function that Python calls.
///
/// # Safety
///
/// The object is a [`PyOp`], and the arguments are as `METH_FASTCALL | METH_KEYWORDS` has them.
unsafe extern "C" fn call(
    slf: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: Python calls functions only on attached threads. `attach` would query that, and
    // count: a few percent of a call with small tensors.
    let py = unsafe { Python::assume_attached() };
    let mut is_plain = true;
    // SAFETY: Python calls with the op as `slf`, and with `count` arguments and the keywords'
    // values behind them.
    let outcome = caught(|| unsafe {
        let op = Borrowed::from_ptr(py, slf).cast_unchecked::<PyOp>();
        let given = bind::Given::new(py, arguments, count as usize, keywords);
        let op = op.get();
        invoke::invoke(py, &op.handle, &op.names, given, &mut is_plain)
    });
    // What a framework follows or traces isn't borrowed, but may be for its own op.
    let outcome = outcome.or_else(|error| {
        // The error is dropped, and with it the frames of the framework's own.
        is_plain = false;
        // SAFETY: Python calls with the op as `slf`, and with `count` arguments and the keywords'
        // values behind them.
        caught(|| unsafe {
            let op = Borrowed::from_ptr(py, slf).cast_unchecked::<PyOp>();
            let arguments = (arguments, count as usize, keywords);
            retry::by_framework(py, op.get().handle.name(), arguments, error)
        })
    });
    if !is_plain || outcome.is_err() {
        release_what_was_dropped();
    }
    match outcome {
        Ok(result) => result.into_ptr(),
        Err(error) => {
            error.restore(py);
            ptr::null_mut()
        }
    }
}

/// Runs code whose panics become errors: its own, and those of Rust functions that Python calls
/// meanwhile, which PyO3 lets go on where their exceptions arrive.
#[inline(always)]
fn caught<T>(code: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

#[cold]
fn panicked(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let message = payload.downcast_ref::<&str>().map(ToString::to_string);
    match message.or_else(|| payload.downcast_ref::<String>().cloned()) {
        Some(message) => PanicException::new_err(message),
        None => PyRuntimeError::new_err("a kernel panicked"),
    }
}
