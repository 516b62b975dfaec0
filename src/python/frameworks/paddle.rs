//! Paddle's tensors that are more, or less, than their memory.

pub(in crate::python) mod export;

use crate::python::attribute::Attribute;
use crate::python::error::{Refused, not_exchangeable};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{Borrowed, intern};

/// Refuses a tensor that autograd follows: what is done with its memory here, it wouldn't know of.
#[inline]
pub(in crate::python) fn guard(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    static STOP_GRADIENT: PyOnceLock<Attribute> = PyOnceLock::new();
    let py = object.py();
    let attribute = match STOP_GRADIENT.get(py) {
        Some(attribute) => attribute,
        None => STOP_GRADIENT.get_or_try_init(py, || {
            let class = py.import("paddle")?.getattr("Tensor")?;
            Attribute::of(&class, "stop_gradient")
        })?,
    };
    if attribute.is(object, true)? {
        return Ok(());
    }
    Err(not_exchangeable(
        "autograd follows this tensor (stop_gradient=False), which it can't outside of Paddle; pass tensor.detach()",
    )
    .into())
}

/// Counts that a tensor was written, for autograd, which refuses to use what changed since it was kept.
pub(in crate::python) fn note_written(object: Borrowed<'_, '_, PyAny>) {
    let py = object.py();
    // What was raised before stays raised.
    let raised = PyErr::take(py);
    let _ = object.call_method0(intern!(py, "_bump_inplace_version"));
    if let Some(raised) = raised {
        raised.restore(py);
    }
}

/// What Paddle's table says of tensors that have no memory of one piece, in clearer words.
#[cold]
pub(in crate::python) fn clarify(object: Borrowed<'_, '_, PyAny>, error: PyErr) -> PyErr {
    let is_dense = object
        .call_method0(intern!(object.py(), "is_dense"))
        .and_then(|answer| answer.is_truthy());
    if !matches!(is_dense, Ok(false)) {
        return error;
    }
    let clear = not_exchangeable(
        "the tensor is sparse, so its elements aren't one piece of memory; pass tensor.to_dense()",
    );
    clear.set_cause(object.py(), Some(error));
    clear
}
