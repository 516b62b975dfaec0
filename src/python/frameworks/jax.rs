//! JAX: arrays that never change, and their types narrowed unless it is told not to.

use super::common::is_pinned_or_managed;
use super::constraints::{ANYTHING, Arranged, Needs, lacks_dtype};
use super::dtypes::{is_common, is_complex, is_wide_unsigned};
use super::row_type::{Export, Framework, Streams};
use super::tried::{Question, Tried};
use crate::dtype::DType;
use crate::error::Incompatibility;
use crate::tensor::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(super) static ROW: Framework = Framework {
    cast: Some("x.astype(\"{}\")"),
    shares_buffers: true,
    streams: Streams {
        asks: true,
        misreads_unordered: Some("JAX can't export a tensor"),
        ..Streams::UNKNOWN
    },
    more: Some(narrows),
    tried: Some(&TRIED),
    ..Framework::new(
        "jax",
        "JAX",
        &["jax", "jaxlib"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::Dense,
            // It copies what isn't.
            alignment: 64,
            reaches: |device| !is_pinned_or_managed(device),
            ..ANYTHING
        },
        Export::Object(from_dlpack),
    )
};

fn has_dtype(dtype: DType) -> bool {
    is_common(dtype)
        || is_wide_unsigned(dtype)
        || is_complex(dtype)
        || matches!(
            dtype,
            DType::BF16
                | DType::F8_E3M4
                | DType::F8_E4M3
                | DType::F8_E4M3B11FNUZ
                | DType::F8_E4M3FN
                | DType::F8_E4M3FNUZ
                | DType::F8_E5M2
                | DType::F8_E5M2FNUZ
                | DType::F8_E8M0FNU
        )
}

/// Releases differ in the small floats that they have, and 0.7.2 takes row-major elements alone.
static TRIED: Tried = Tried::new(|_, tensor| {
    let dtype = tensor.dtype();
    let is_in_all = is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype);
    [
        (!is_in_all).then_some(Question::DType(dtype)),
        (!tensor.layout().is_contiguous()).then_some(Question::Transposed),
    ]
});

/// Returns why JAX would have other numbers than it is given, if it would.
fn narrows(py: Python<'_>, tensor: &Tensor) -> PyResult<Option<Incompatibility>> {
    let dtype = tensor.dtype();
    if !matches!(dtype, DType::I64 | DType::U64 | DType::F64 | DType::C128) {
        return Ok(None);
    }
    let config = py
        .import(intern!(py, "jax"))?
        .getattr(intern!(py, "config"))?;
    let is_wide = config.getattr(intern!(py, "jax_enable_x64"))?.is_truthy()?;
    let why = || {
        lacks_dtype(dtype.to_string(), format!("JAX would narrow {dtype}"))
            .with_remedy("set jax_enable_x64")
    };
    Ok((!is_wide).then(why))
}

/// Imports an object. JAX's arrays never change, and what came from elsewhere isn't used again when
/// an array is donated.
fn from_dlpack<'py>(
    py: Python<'py>,
    object: Bound<'py, PyAny>,
    _: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "copy"), false)?;
    py.import(intern!(py, "jax"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method(intern!(py, "from_dlpack"), (object,), Some(&keywords))
}
