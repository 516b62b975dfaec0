//! TensorFlow: tensors that never change, and some from which no capsule may be requested.

use super::common::is_pinned_or_managed;
use super::constraints::{ANYTHING, Arranged, Needs};
use super::dtypes::{is_common, is_complex, is_wide_unsigned};
use super::row_type::{CapsuleMethods, Export, Framework};
use super::tried::{Question, Tried};
use crate::dlpack::python::type_lookup;
use crate::dtype::DType;
use crate::python::error::not_exchangeable;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{Borrowed, intern};

pub(super) static ROW: Framework = Framework {
    cast: Some("tensorflow.cast(x, \"{}\")"),
    shares_buffers: true,
    guard_capsule: Some(guard),
    // For releases whose tensors have no `__dlpack__`, and buffers that can't express bfloat16.
    capsule_methods: Some(CapsuleMethods {
        is_tensor,
        ask: ask_capsule,
        correct: |descriptor| *descriptor,
        read_only: true,
    }),
    tried: Some(&TRIED),
    ..Framework::new(
        "tensorflow",
        "TensorFlow",
        &["tensorflow"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::RowMajor,
            // It aborts when an operation finds memory that isn't.
            alignment: 64,
            reaches: |device| !is_pinned_or_managed(device),
            most_dimensions: 254,
            ..ANYTHING
        },
        Export::LegacyCapsule {
            prepare: Ok,
            import: from_dlpack,
        },
    )
};

fn has_dtype(dtype: DType) -> bool {
    // Lanes it doesn't look at.
    is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype) || dtype == DType::BF16
}

/// Releases before 2.16 have no bool in DLPack.
static TRIED: Tried = Tried::new(|_, tensor| {
    let is_bool = tensor.dtype() == DType::BOOL;
    [is_bool.then_some(Question::DType(DType::BOOL)), None]
});

/// Returns whether an object is one of TensorFlow's tensors, and not a variable or a symbol.
fn is_tensor(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let name = type_lookup::type_name(&object.get_type());
    Ok(name.as_deref() == Some("EagerTensor"))
}

/// Asks a tensor of a release before `__dlpack__` for a capsule.
#[cold]
fn ask_capsule<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    _: bool,
) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    if !is_tensor(object)? {
        return Ok(None);
    }
    guard(object)?;
    let py = object.py();
    let capsule = dlpack(py)?.call_method1(intern!(py, "to_dlpack"), (object,))?;
    Ok(Some(capsule.cast_into()?))
}

fn dlpack(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "tensorflow"))?
        .getattr(intern!(py, "experimental"))?
        .getattr(intern!(py, "dlpack"))
}

/// Refuses elements that DLPack hasn't: TensorFlow aborts the process when it exports strings.
fn guard(object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let dtype = object
        .getattr(intern!(py, "dtype"))?
        .getattr(intern!(py, "name"))?;
    let name = dtype.extract::<String>()?;
    match name.parse::<DType>() {
        Ok(_) => Ok(()),
        Err(_) => Err(not_exchangeable(format!(
            "TensorFlow's {name} has no DLPack equivalent"
        ))),
    }
}

/// Imports a capsule. TensorFlow's tensors never change: it counts memory that came from elsewhere
/// as not its own, which no operation uses again for its result.
fn from_dlpack<'py>(
    py: Python<'py>,
    capsule: Bound<'py, PyCapsule>,
    _: DType,
) -> PyResult<Bound<'py, PyAny>> {
    dlpack(py)?.call_method1(intern!(py, "from_dlpack"), (capsule,))
}
