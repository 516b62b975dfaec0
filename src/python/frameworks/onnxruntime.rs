//! ONNX Runtime: values of its sessions.

use super::constraints::{ANYTHING, Arranged, Needs};
use super::dtypes::{is_common, is_wide_unsigned};
use super::row_type::{Export, Framework};
use crate::dlpack::python::intern;
use crate::dtype::DType;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pub(super) static ROW: Framework = Framework {
    // A value keeps an array's memory, and its capsule doesn't keep the value.
    capsule_keeps_memory: false,
    ..Framework::new(
        "onnxruntime",
        "ONNX Runtime",
        &["onnxruntime"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::RowMajor,
            writes_all: true,
            ..ANYTHING
        },
        Export::LegacyCapsule {
            // It has no code for truth values, and is told.
            prepare: |tensor| match tensor.dtype() {
                DType::BOOL => Ok(tensor.bit_cast(DType::U8)?),
                _ => Ok(tensor),
            },
            import: from_dlpack,
        },
    )
};

fn has_dtype(dtype: DType) -> bool {
    is_common(dtype) || is_wide_unsigned(dtype) || dtype == DType::BF16
}

fn from_dlpack<'py>(
    py: Python<'py>,
    capsule: Bound<'py, PyCapsule>,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import(intern!(py, "onnxruntime"))?;
    let inner = py
        .import(intern!(py, "onnxruntime.capi._pybind_state"))?
        .getattr(intern!(py, "OrtValue"))?
        .call_method1(intern!(py, "from_dlpack"), (capsule, dtype == DType::BOOL))?;
    module.getattr(intern!(py, "OrtValue"))?.call1((inner,))
}
