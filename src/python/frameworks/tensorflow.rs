//! TensorFlow: tensors that never change, and some from which no capsule may be requested.

mod capsule;
#[cfg(all(feature = "tensorflow", unix))]
mod eager;
#[cfg(not(all(feature = "tensorflow", unix)))]
#[path = "tensorflow/no_eager.rs"]
mod eager;
#[cfg(all(feature = "tensorflow", unix))]
mod sample;
#[cfg(all(feature = "hosts", unix))]
pub(in crate::python) mod tape;

use super::common::is_pinned_or_managed;
use super::constraints::{ANYTHING, Arranged, Needs};
use super::entrance::legacy_capsule;
use super::row_type::{CapsuleMethods, Export, Framework};
use super::tried::{Question, Tried};
use crate::dlpack::python::intern;
use crate::dlpack::python::type_lookup;
use crate::dtype::DType;
use crate::python::error::not_exchangeable;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

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
    export_refused: Some(eager::export),
    more: Some(eager::lacks),
    tried: Some(&TRIED),
    ..Framework::new(
        "tensorflow",
        "TensorFlow",
        &["tensorflow"],
        Needs {
            has: has_dtype,
            arranged: Arranged::RowMajor,
            // It aborts when an operation finds memory that isn't.
            alignment: 64,
            reaches: |device| !is_pinned_or_managed(device),
            most_dimensions: 254,
            ..ANYTHING
        },
        Export::Tensor(export),
    )
};

fn has_dtype(dtype: DType) -> bool {
    capsule::has_dtype(dtype) || eager::may_have(dtype)
}

/// Releases before 2.16 have no bool in DLPack.
static TRIED: Tried = Tried::new(|_, tensor| {
    let is_bool = tensor.dtype() == DType::BOOL;
    Ok([is_bool.then_some(Question::DType(DType::BOOL)), None])
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
    capsule::to_dlpack(&object).map(Some)
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

/// Exports a tensor by a capsule, or by the C library if TensorFlow's DLPack lacks its elements.
fn export(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    match capsule::has_dtype(tensor.dtype()) {
        true => capsule::from_dlpack(py, legacy_capsule(py, tensor)?),
        false => eager::make(py, &tensor),
    }
}
