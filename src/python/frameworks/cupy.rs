//! CuPy: arrays on GPUs, and the stream on which it works.

use super::constraints::{ANYTHING, Needs};
use super::dtypes::{is_common, is_complex, is_wide_unsigned};
use super::row_type::{Export, Framework, Streams};
use crate::device::DeviceKind;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use pyo3::prelude::*;

pub(super) static ROW: Framework = Framework {
    cast: Some("x.astype(\"{}\")"),
    streams: Streams {
        // It asks for an order by a number; here it is known what keeps the stream.
        current: Some(current_stream),
        ..Streams::UNKNOWN
    },
    ..Framework::new(
        "cupy",
        "CuPy",
        &["cupy"],
        Needs {
            has: has_dtype,
            has_padded: false,
            reaches: |device| matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged),
            writes_all: true,
            ..ANYTHING
        },
        Export::Object(from_dlpack),
    )
};

fn has_dtype(dtype: DType) -> bool {
    is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype) || dtype == DType::BF16
}

/// Returns the handle of the stream on which CuPy works on a GPU, and the object that keeps it.
fn current_stream(py: Python<'_>, gpu: i32) -> PyResult<(usize, Bound<'_, PyAny>)> {
    let cuda = py
        .import(intern!(py, "cupy"))?
        .getattr(intern!(py, "cuda"))?;
    let stream = cuda.call_method1(intern!(py, "get_current_stream"), (gpu,))?;
    let handle = stream.getattr(intern!(py, "ptr"))?.extract()?;
    Ok((handle, stream))
}

fn from_dlpack<'py>(
    py: Python<'py>,
    object: Bound<'py, PyAny>,
    _: DType,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "cupy"))?
        .call_method1(intern!(py, "from_dlpack"), (object,))
}
