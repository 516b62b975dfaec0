//! TensorFlow: tensors that never change, and some that are not to be asked for a capsule.

use super::common::is_pinned_or_managed;
use super::constraints::{ANYTHING, Arranged, Needs};
use super::dtypes::{is_common, is_complex, is_wide_unsigned};
use super::row::{Export, Framework};
use crate::dtype::DType;
use crate::python::error::not_exchangeable;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{Borrowed, intern};

pub(super) static ROW: Framework = Framework {
    cast: Some("tensorflow.cast(x, \"{}\")"),
    shares_buffers: true,
    guard_capsule: Some(guard),
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

/// Refuses elements that DLPack hasn't: asked for those of strings, TensorFlow aborts the process.
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
    py.import(intern!(py, "tensorflow"))?
        .getattr(intern!(py, "experimental"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method1(intern!(py, "from_dlpack"), (capsule,))
}
