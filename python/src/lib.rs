//! The compiled module of the package `dlbridge`: the class, ways in and out, and tensors from
//! nothing, ops. What isn't about speed is in Python.

mod asarray;
mod cuda;
mod make;
mod ops;

use dlbridge::python::{Outlook, Passed, PyDType, PyDevice, PyTensor, Wanted};
use dlbridge::{DType, Device, Tensor};
use pyo3::prelude::*;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        dlbridge::python::check_interpreter(module.py())?;
        dlbridge::python::quicken(module)
    }

    #[pymodule_export]
    use super::asarray::asarray;
    #[pymodule_export]
    use super::cuda::{
        add_search_path, check, compile, current_stream, device_count, is_available, load,
        properties, synchronize, trim,
    };
    #[pymodule_export]
    use super::make::{arange, empty, full, ones, zeros};
    #[pymodule_export]
    use super::ops::{kernels, op, op_names};
    #[pymodule_export]
    use super::{PyDType, PyDevice, PyTensor, convert, from_dlpack, outlook, restore};
    #[pymodule_export]
    use dlbridge::python::{PyKernel, PyKernels, PyOp, PyRecorder, PyStream};
}

/// The tensor of any framework's object, of a buffer, or in a capsule.
///
/// `copy` is True for memory of its own, False for shared memory or an error, and None for shared
/// memory where that is possible. `device` is where the memory should be.
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
fn from_dlpack<'py>(
    x: &Bound<'py, PyAny>,
    device: Option<Device>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyTensor>> {
    PyTensor::of(x, Wanted { copy, device })
}

/// Any framework's tensor as one of another framework, in one hop.
///
/// `copy` is False for shared memory or an error, True for a copy, and None for shared memory where
/// that is possible and a copy where it isn't.
#[pyfunction]
#[pyo3(signature = (x, to, *, copy=Some(false)), text_signature = "(x, to, *, copy=False)")]
fn convert<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    to: &str,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let x = match copy {
        Some(true) => Passed::to_look_at(x)?,
        _ => x.extract()?,
    };
    dlbridge::python::convert(py, x, to, copy)
}

/// What would become of a tensor: "shared", "copied" or "refused", and why.
#[pyfunction]
#[pyo3(name = "_outlook")]
fn outlook(
    py: Python<'_>,
    tensor: &Bound<'_, PyAny>,
    to: &str,
) -> PyResult<(&'static str, Option<String>)> {
    let tensor = Passed::to_look_at(tensor)?;
    Ok(match dlbridge::python::explain(py, tensor, to)? {
        Outlook::Shared => ("shared", None),
        Outlook::Copied(reason) => ("copied", Some(reason)),
        Outlook::Refused(reason) => ("refused", Some(reason)),
        _ => ("unknown", None),
    })
}

/// A tensor that was pickled.
#[pyfunction]
#[pyo3(name = "_restore")]
fn restore(elements: &Bound<'_, PyAny>, shape: Vec<usize>, dtype: DType) -> PyResult<Tensor> {
    dlbridge::python::restore(elements, &shape, dtype)
}
