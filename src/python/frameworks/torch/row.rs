//! PyTorch's row in the table of frameworks.

use super::class::is_tensor_type;
use super::{clarify, guard, guard_negated, keep, lock, note_written};
use crate::dlpack::python::{intern, type_lookup};
use crate::dtype::{DType, TypeCode};
use crate::python::frameworks::class_table::ClassTable;
use crate::python::frameworks::common::{from_capsule, is_pinned_or_managed, is_plain};
use crate::python::frameworks::constraints::{ANYTHING, Arranged, Needs};
use crate::python::frameworks::dtypes::{is_common, is_complex, is_wide_unsigned};
use crate::python::frameworks::row_type::{Export, Framework, Streams, TableVendor};
use crate::python::frameworks::tried::{Question, Tried};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyString, PyType};
use std::sync::{Mutex, PoisonError};

pub(in crate::python::frameworks) static ROW: Framework = Framework {
    cast: Some("x.to(torch.{})"),
    vendor: Some(&VENDOR),
    surely_has: is_plain,
    tried: Some(&TRIED),
    streams: Streams {
        asks: true,
        ..Streams::UNKNOWN
    },
    ..Framework::new(
        "torch",
        "PyTorch",
        &["torch"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::Forwards,
            reaches: |device| !is_pinned_or_managed(device),
            writes_all: true,
            ..ANYTHING
        },
        Export::Table {
            table: &TABLE,
            vendor: &VENDOR,
            without: |py, capsule| from_capsule(intern!(py, "torch"), capsule),
        },
    )
};

static VENDOR: TableVendor = TableVendor {
    library: Some("torch"),
    recognise,
    overrides: overrides_functions,
    has_layout: is_tensor_type,
    guard: Some(guard),
    guard_override: Some(guard_negated),
    clarify: |object, error| clarify(object.py(), error),
    note_written: Some(note_written),
    knows_read_only: false,
    runs_python: false,
    keep_memory: |object, is_for_longer| {
        if !is_tensor_type(object.get_type_ptr()) {
            return Ok(None);
        }
        if is_for_longer {
            lock(object);
        }
        Ok(Some(keep(object)?.into_owner()))
    },
    stream_lasts,
    framework: Some(&ROW),
    ..TableVendor::new("torch")
};

/// Which PyTorch has from 2.10 on.
static TABLE: ClassTable = ClassTable::new("torch");

/// Releases without a table lack some of the dtypes.
static TRIED: Tried = Tried::new(|py, tensor| {
    let question = Question::DType(tensor.dtype());
    Ok([TABLE.is_missing(py)?.then_some(question), None])
});

fn has_dtype(dtype: DType) -> bool {
    is_common(dtype)
        || is_wide_unsigned(dtype)
        || is_complex(dtype)
        // Two of them are one element.
        || (dtype.code() == TypeCode::Float4E2M1Fn && dtype.lanes() == 2)
        || matches!(
            dtype,
            DType::BF16
                | DType::C32
                | DType::F8_E4M3FN
                | DType::F8_E4M3FNUZ
                | DType::F8_E5M2
                | DType::F8_E5M2FNUZ
                | DType::F8_E8M0FNU
        )
}

/// Recognises PyTorch's C class, and classes that only have the name of `torch.Tensor`.
fn recognise(kind: &Bound<'_, PyType>) -> Option<usize> {
    if is_torch(kind) {
        // `torch.Tensor` is a Python class, derived from the one that was made in C.
        return Some(1);
    }
    goes_by_torch(kind).then_some(0)
}

/// Recognises the base class of all PyTorch tensors. It was called `_TensorBase` before 2.1.
fn is_torch(kind: &Bound<'_, PyType>) -> bool {
    let is = |name| type_lookup::is_c_type(kind, "torch._C", name);
    is("TensorBase") || is("_TensorBase")
}

/// Recognises a class that only has the name of PyTorch's: its objects are asked what their memory
/// means, and never read as C structs.
fn goes_by_torch(kind: &Bound<'_, PyType>) -> bool {
    type_lookup::module_name(kind).as_deref() == Some("torch")
        && type_lookup::type_name(kind).as_deref() == Some("Tensor")
}

/// Returns whether a class derived from PyTorch's has a `__torch_function__` of its own, which
/// PyTorch's `__dlpack__` asks and its table passes by. `torch.nn.Parameter` has the one that does
/// nothing.
fn overrides_functions(kind: &Bound<'_, PyType>, own: usize) -> bool {
    let py = kind.py();
    let found = type_lookup::lookup(kind, intern!(py, "__torch_function__"));
    found.is_some_and(|(depth, function)| depth < own && !does_nothing(&function))
}

/// Returns whether a function is `torch._C._disabled_torch_function_impl`.
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

/// Returns whether PyTorch's current stream is one of its own, which it never destroys, and not one
/// that it was told of.
fn stream_lasts(py: Python<'_>, gpu: i32, handle: usize) -> bool {
    /// Those that were found to be PyTorch's, which are few.
    static OWN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    if handle == 0 {
        return true;
    }
    let own = || OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if own().contains(&handle) {
        return true;
    }
    // The numbers by which PyTorch knows others' streams are their handles.
    let is_own = is_numbered_by_torch(py, gpu, handle).unwrap_or(false);
    if is_own {
        own().push(handle);
    }
    is_own
}

#[cold]
fn is_numbered_by_torch(py: Python<'_>, gpu: i32, handle: usize) -> PyResult<bool> {
    let cuda = py
        .import(intern!(py, "torch"))?
        .getattr(intern!(py, "cuda"))?;
    let stream = cuda.call_method1(intern!(py, "current_stream"), (gpu,))?;
    let its_handle: usize = stream.getattr(intern!(py, "cuda_stream"))?.extract()?;
    let number: i64 = stream.getattr(intern!(py, "stream_id"))?.extract()?;
    Ok(its_handle == handle && number as usize != handle)
}
