//! JAX: arrays that never change, and their types narrowed unless it is told not to.

use super::common::is_pinned_or_managed;
use super::constraints::{ANYTHING, Arranged, Needs, lacks_dtype};
use super::dtypes::{is_common, is_complex, is_wide_unsigned};
use super::row_type::{Export, Framework, Streams};
use super::tried::{Question, Tried};
use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::error::Incompatibility;
use crate::python::error::{caused, not_exchangeable};
use crate::tensor::Tensor;
use pyo3::exceptions::{PyException, PyMemoryError, PyRecursionError, PyTypeError};
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

/// Releases differ in the small floats that they have, and in whether they take elements that
/// aren't row-major: 0.7.2 refuses them. 0.4 and 0.6 to 0.7.1 take them, and read other elements or
/// fail in each operation.
static TRIED: Tried = Tried::verified(
    |_, tensor| {
        let dtype = tensor.dtype();
        let is_in_all = is_common(dtype) || is_wide_unsigned(dtype) || is_complex(dtype);
        Ok([
            (!is_in_all).then_some(Question::DType(dtype)),
            (!tensor.layout().is_contiguous()).then_some(Question::Transposed),
        ])
    },
    |question, made| match question {
        Question::Transposed => reads_transposed(made),
        Question::DType(_) => Ok(()),
    },
);

/// Checks that JAX adds the elements of the transposed sample where they are.
///
/// # Errors
///
/// A `BufferError` if it doesn't.
#[cold]
fn reads_transposed(made: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = made.py();
    let doubled = at_once(py, || made.add(made)?.call_method0(intern!(py, "tolist")));
    match doubled.and_then(|numbers| numbers.extract::<Vec<Vec<f64>>>()) {
        Ok(numbers) if numbers == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]] => Ok(()),
        Ok(_) => Err(not_exchangeable("it reads other elements")),
        Err(error) if is_about_array(py, &error) => {
            let refusal = not_exchangeable("it can't compute with them");
            Err(caused(py, refusal, error))
        }
        Err(error) => Err(error),
    }
}

/// Computes with arrays although a function may be traced meanwhile.
fn at_once<T>(py: Python<'_>, compute: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let context = py
        .import(intern!(py, "jax"))?
        .call_method0(intern!(py, "ensure_compile_time_eval"))?;
    context.call_method0(intern!(py, "__enter__"))?;
    let made = compute();
    let exit = context.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()));
    made.and_then(|made| exit.map(|_| made))
}

/// Returns whether an exception says something of an array, and not of the machine or the program.
fn is_about_array(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyException>(py)
        && !error.is_instance_of::<PyMemoryError>(py)
        && !error.is_instance_of::<PyRecursionError>(py)
}

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
    let import = py
        .import(intern!(py, "jax"))?
        .getattr(intern!(py, "dlpack"))?
        .getattr(intern!(py, "from_dlpack"))?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "copy"), false)?;
    match import.call((&object,), Some(&keywords)) {
        Err(error) if lacks_copy(py, &error) => import.call1((object,)),
        made => made,
    }
}

/// Returns whether an error is about the keyword `copy`, which JAX has from 0.4.31 on: before, it
/// shares all that it takes.
#[cold]
fn lacks_copy(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py) && {
        let said = error.value(py).to_string();
        said.contains("unexpected keyword argument 'copy'")
    }
}
