//! The compiled module of the package `dlbridge`: the class, ways in and out, and tensors from
//! nothing, ops. What isn't about speed is in Python.

mod asarray;
mod cuda;
mod files;
mod make;
mod ops;

use dlbridge::python::package::is_no_tensor;
use dlbridge::python::{
    Conversion, Explanation, Passed, PyDType, PyDevice, PyTensor, ReadOnlyPolicy, Wanted,
};
use dlbridge::{DType, Device, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyString;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        dlbridge::python::check_interpreter(module.py())?;
        // A wrong value of the environment variable is told here, and not in the middle of a
        // program.
        dlbridge::python::ReadOnlyPolicy::current(module.py())?;
        dlbridge::python::package::fastcall(module)
    }

    #[pymodule_export]
    use super::asarray::asarray;
    #[pymodule_export]
    use super::cuda::{
        add_search_path, check, compile, current_stream, device_count, is_available, load,
        properties, synchronize, trim,
    };
    #[pymodule_export]
    use super::files::{open_bytes, open_file, save_bytes, save_file};
    #[pymodule_export]
    use super::make::{arange, empty, full, ones, zeros};
    #[pymodule_export]
    use super::ops::{kernels, nearest_name, op, op_aliases, op_names};
    #[pymodule_export]
    use super::{PyDType, PyDevice, PyTensor, convert, from_dlpack, outlook, restore};
    #[pymodule_export]
    use dlbridge::python::package::{PyKernel, PyKernels, PyRecorder, PyStream};
    #[pymodule_export]
    use dlbridge::python::package::{num_threads, set_num_threads};
    #[pymodule_export]
    use dlbridge::python::{CudaError, PyOp, PyTensorFile};
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
    PyTensor::from_object(x, Wanted { copy, device })
}

/// Any framework's tensor as one of another framework, in one hop.
///
/// `copy` is False for shared memory or an error, True for a copy, and None for shared memory where
/// that is possible and a copy where it isn't.
///
/// `readonly` says what happens where the memory is read-only and the framework has no read-only
/// tensors: "warn" shares it with a `ReadOnlyWarning` for each pair of frameworks, "share" without,
/// "refuse" raises BufferError. Without it, the policy of `dlbridge.readonly` holds. With
/// `copy=None` it is copied.
#[pyfunction]
#[pyo3(
    signature = (x, to, *, copy=Some(false), readonly=None),
    text_signature = "(x, to, *, copy=False, readonly=None)"
)]
fn convert<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    to: &Bound<'_, PyString>,
    copy: Option<bool>,
    readonly: Option<ReadOnlyPolicy>,
) -> PyResult<Bound<'py, PyAny>> {
    let tensor = match copy {
        Some(true) => Passed::to_look_at(x)?,
        _ => x.extract()?,
    };
    let conversion = Conversion::from(copy).readonly(readonly);
    dlbridge::python::convert(py, tensor, &to.to_string_lossy(), conversion.taken_from(x))
}

/// An explanation's fields: outcome, kind, found, wanted, reason, remedy.
type ExplanationFields = (
    &'static str,
    Option<&'static str>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// What would become of a tensor, and why, as fields.
#[pyfunction]
#[pyo3(name = "_outlook", signature = (x, to, readonly=None))]
fn outlook(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    to: &Bound<'_, PyString>,
    readonly: Option<ReadOnlyPolicy>,
) -> PyResult<ExplanationFields> {
    let to = &to.to_string_lossy();
    let explanation = match Passed::to_ask_about(x) {
        Ok(tensor) => dlbridge::python::explain(py, tensor, to, readonly)?,
        Err(error) if error.is_instance_of::<PyBufferError>(py) || is_no_tensor(py, &error) => {
            // An unknown framework is an error all the same.
            let nothing = Tensor::zeros(&[0], DType::F32)?;
            dlbridge::python::explain(py, nothing, to, readonly)?;
            Explanation::refused(dlbridge::python::fields_of(py, &error))
        }
        Err(error) => return Err(error),
    };
    let outcome = explanation.outcome.as_str();
    let Some(why) = explanation.incompatibility else {
        return Ok((outcome, None, None, None, None, None));
    };
    let reason = why.reason().into_owned();
    let [found, wanted, remedy] =
        [why.found, why.wanted, why.remedy].map(|field| field.map(String::from));
    Ok((
        outcome,
        Some(why.kind.as_str()),
        found,
        wanted,
        Some(reason),
        remedy,
    ))
}

/// A tensor that was pickled.
#[pyfunction]
#[pyo3(name = "_restore")]
fn restore(elements: &Bound<'_, PyAny>, shape: Vec<usize>, dtype: DType) -> PyResult<Tensor> {
    dlbridge::python::package::restore(elements, &shape, dtype)
}
