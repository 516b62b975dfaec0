//! Tensors of a file as objects of a framework.

use crate::device::Device;
use crate::files::Stored;
use crate::python::export::{Conversion, Outcome, convert, explain};
use crate::python::frameworks::Framework;
use crate::python::on_device::to_device;
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// Returns a tensor as an object of a framework, and why it was copied. `writable`: whether the
/// tensor may be written if its memory may be; `None` for those of frameworks without read-only
/// tensors alone.
pub(super) fn load<'py>(
    py: Python<'py>,
    stored: &Stored,
    to: &str,
    device: Option<Device>,
    writable: Option<bool>,
) -> PyResult<(Bound<'py, PyAny>, Option<String>)> {
    let framework = Framework::named(to)?;
    let elsewhere = device.filter(|device| *device != Device::CPU);
    // On its way to another device it doesn't matter where the memory is here.
    let align = match elsewhere {
        Some(_) => 1,
        None => framework.needs.alignment,
    };
    let reason = stored.copy_reason(align).map(|reason| reason.to_string());
    let mut tensor = py.detach(|| stored.tensor(align))?;
    if reason.is_none() && !writable.unwrap_or(framework.needs.writes_all) {
        tensor = tensor.into_read_only();
    }
    let tensor = as_pairs(tensor, framework)?;
    if let Some(device) = elsewhere {
        let tensor = to_device(&tensor, device)?;
        let object = convert(py, tensor, to, Conversion::default())?;
        return Ok((object, Some(format!("copied to {device}"))));
    }
    // Of memory that can't be written, the policy that holds decides.
    let explanation = explain(py, tensor.clone(), to, None)?;
    let by_framework = match explanation.outcome {
        Outcome::Copied => explanation.incompatibility.map(|why| why.to_string()),
        _ => None,
    };
    let conversion = match by_framework {
        Some(_) => Conversion::from(None),
        None => Conversion::default(),
    };
    let object = convert(py, tensor, to, conversion)?;
    Ok((object, reason.or(by_framework)))
}

/// Returns 4-bit elements as pairs, for a framework that has only those.
fn as_pairs(tensor: Tensor, framework: &Framework) -> PyResult<Tensor> {
    let dtype = tensor.dtype();
    let pairs = dtype.with_lanes(2).map_err(crate::error::Error::from)?;
    let has = framework.needs.has;
    if !dtype.is_sub_byte() || has(dtype) || !has(pairs) {
        return Ok(tensor);
    }
    Ok(tensor.bit_cast(pairs)?)
}
