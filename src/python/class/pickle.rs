//! Pickling, with the elements outside of the stream from protocol 5 on.

use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::error::IncompatibilityKind as Kind;
use crate::python::argument::keep;
use crate::python::cuda;
use crate::python::error::{not_exchangeable, wrong_argument};
use crate::python::import::own::{Wanted, from_object};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Returns the function that restores a pickled tensor, and its arguments.
pub(super) fn reduce<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    protocol: i32,
) -> PyResult<Bound<'py, PyTuple>> {
    if tensor.is_padded() {
        return Err(not_exchangeable((
            Kind::Padding,
            format!("padded {} elements can't be pickled", tensor.dtype()),
        )));
    }
    // It is loaded on the host, as the process that reads it may have no GPU.
    let tensor = cuda::on_host(tensor)?;
    // The bytes of what has rank 0 are those of a list of one.
    let row = tensor.contiguous()?.reshape(&[tensor.len()])?;
    let bytes = row.as_bytes()?.into_pyobject(py)?.into_any();
    let elements = if protocol >= 5 {
        py.import(intern!(py, "pickle"))?
            .call_method1(intern!(py, "PickleBuffer"), (bytes,))?
    } else {
        let bytes = row.as_bytes()?.to_vec::<u8>()?;
        PyBytes::new(py, &bytes).into_any()
    };
    let package = py.import(intern!(py, "dlbridge")).map_err(|error| {
        let clear = wrong_argument(
            "nothing",
            "the package dlbridge",
            "pickling a tensor takes the package dlbridge",
        );
        clear.set_cause(py, Some(error));
        clear
    })?;
    let make = package.getattr(intern!(py, "_restore"))?;
    let shape = PyTuple::new(py, tensor.shape())?;
    (make, (elements, shape, tensor.dtype().to_string())).into_pyobject(py)
}

/// Returns a tensor from its bytes, which it shares if they may be written: `bytes` are copied.
///
/// # Errors
///
/// When there are more or fewer bytes than the tensor has, or they can't be had.
pub fn restore(elements: &Bound<'_, PyAny>, shape: &[usize], dtype: DType) -> PyResult<Tensor> {
    let bytes = from_object(elements, Wanted::default())?;
    let bytes = if elements.is_instance_of::<PyBytes>() {
        bytes.copy()?
    } else {
        bytes
    };
    let (bytes, found) = (bytes.contiguous()?, bytes.nbytes());
    if bytes.dtype() == DType::U8 {
        let begin = bytes.byte_offset();
        let storage = bytes.storage().slice(begin..begin + found);
        let tensor = Tensor::from_storage(storage, shape, dtype)?;
        if tensor.nbytes() == found {
            return Ok(keep(elements.py(), Some(elements.as_borrowed()), tensor)?);
        }
    }
    Err(not_exchangeable((
        Kind::Shape,
        format!("{found} bytes don't fit a tensor of shape {shape:?} of {dtype}"),
    )))
}
