//! MLX, which copies all that it takes.

use super::constraints::{ANYTHING, Arranged, Needs};
use super::dtypes::{is_common, is_wide_unsigned};
use super::row_type::{Export, Framework};
use super::tried::{Question, Tried};
use crate::device::Device;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(super) static ROW: Framework = Framework {
    cast: Some("x.astype(mlx.core.{})"),
    shares_buffers: true,
    copies: true,
    tried: Some(&TRIED),
    ..Framework::new(
        "mlx",
        "MLX",
        &["mlx"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::Forwards,
            reaches: Device::is_host_accessible,
            ..ANYTHING
        },
        Export::Object(from_dlpack),
    )
};

fn has_dtype(dtype: DType) -> bool {
    is_common(dtype) || is_wide_unsigned(dtype) || matches!(dtype, DType::BF16 | DType::C64)
}

/// Releases without `from_dlpack` take row-major elements alone.
static TRIED: Tried = Tried::new(|_, tensor| {
    let is_row_major = tensor.layout().is_contiguous();
    Ok([(!is_row_major).then_some(Question::Transposed), None])
});

fn from_dlpack<'py>(
    py: Python<'py>,
    object: Bound<'py, PyAny>,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let mlx = py.import(intern!(py, "mlx.core"))?;
    if dtype == DType::F64 {
        // It would narrow what it isn't told to keep.
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "dtype"), mlx.getattr(intern!(py, "float64"))?)?;
        return mlx.call_method(intern!(py, "array"), (object,), Some(&keywords));
    }
    match mlx.getattr_opt(intern!(py, "from_dlpack"))? {
        Some(from_dlpack) => from_dlpack.call1((object,)),
        None => mlx.call_method1(intern!(py, "array"), (object,)),
    }
}
