//! Results of every kind.

use dlbridge::python::{
    Conversion, In, Like, OrNumber, Out, Passed, ReadOnlyPolicy, convert, to_framework,
};
use dlbridge::{DType, Error, Tensor};
use half::bf16;
use pyo3::exceptions::PyLookupError;
use pyo3::prelude::*;

register!(
    compiled_in,
    doubled,
    like,
    like_out,
    like_number,
    to,
    zeros_like,
    zeros,
    ones,
    from_list,
    from_bytes,
    read_only,
    transposed,
    fresh_like,
);

fn dtype_of(name: &str) -> PyResult<DType> {
    Ok(name.parse::<DType>().map_err(Error::from)?)
}

/// A new tensor, of the framework that the argument is of, and where its memory is.
#[pyfunction]
fn doubled<'py>(x: In<'py, f32>) -> Result<(usize, Like<'py>), Error> {
    let numbers = x.view().iter().map(|x| 2.0 * x).collect();
    let tensor = Tensor::from_vec(numbers, x.shape())?;
    Ok((tensor.data_ptr().addr(), x.like(tensor)))
}

/// `y` as an object of the framework that `x` is of.
#[pyfunction]
#[pyo3(signature = (x, y, readonly=None))]
fn like<'py>(x: In<'py>, y: Tensor, readonly: Option<ReadOnlyPolicy>) -> Like<'py> {
    match readonly {
        Some(readonly) => x.like(y).readonly(readonly),
        None => x.like(y),
    }
}

#[pyfunction]
fn like_out<'py>(out: Out<'py>, y: Tensor) -> Like<'py> {
    out.like(y)
}

#[pyfunction]
fn like_number<'py>(x: OrNumber<'py, f32>, y: Tensor) -> Like<'py> {
    x.like(y)
}

/// A copy of `y` that no other code has, as an object of the framework that `x` is of.
#[pyfunction]
fn fresh_like<'py>(x: In<'py>, y: Tensor) -> Result<Like<'py>, Error> {
    Ok(x.like(y.copy()?))
}

#[pyfunction]
#[pyo3(signature = (x, name, readonly=None))]
fn to<'py>(
    py: Python<'py>,
    x: Passed,
    name: &str,
    readonly: Option<ReadOnlyPolicy>,
) -> PyResult<Bound<'py, PyAny>> {
    match readonly {
        None => to_framework(py, x, name),
        readonly => convert(py, x, name, Conversion::default().readonly(readonly)),
    }
}

/// A table that is compiled in, as a tensor of a framework.
#[pyfunction]
fn compiled_in<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static TABLE: &[f32] = &[1.0, 2.0, 4.0];
    to_framework(py, Tensor::from_owner(TABLE, &[3])?, name)
}

/// Zeros, and where their memory is.
#[pyfunction]
fn zeros_like<'py>(x: In<'py>, shape: Vec<usize>, dtype: &str) -> PyResult<(usize, Like<'py>)> {
    let zeros = match dtype_of(dtype)? {
        DType::F32 => x.zeros_like::<f32>(&shape),
        DType::F64 => x.zeros_like::<f64>(&shape),
        DType::I64 => x.zeros_like::<i64>(&shape),
        DType::BOOL => x.zeros_like::<bool>(&shape),
        DType::BF16 => x.zeros_like::<bf16>(&shape),
        other => Err(PyLookupError::new_err(other.to_string())),
    }?;
    Ok((zeros.data_ptr().addr(), x.like(zeros)))
}

/// Zeros, or ones where the type has no zero.
#[pyfunction]
fn zeros(shape: Vec<usize>, dtype: &str) -> PyResult<Tensor> {
    let dtype = dtype_of(dtype)?;
    Ok(Tensor::zeros(&shape, dtype).or_else(|_| Tensor::ones(&shape, dtype))?)
}

#[pyfunction]
fn ones(shape: Vec<usize>, dtype: &str) -> PyResult<Tensor> {
    Ok(Tensor::ones(&shape, dtype_of(dtype)?)?)
}

/// Copied to memory that every framework finds aligned.
#[pyfunction]
fn from_list(numbers: Vec<f32>, shape: Vec<usize>) -> Result<Tensor, Error> {
    Tensor::from_slice(&numbers, &shape)
}

/// Any element type, from its bytes, one `skip` further than what is aligned.
#[pyfunction]
#[pyo3(signature = (bytes, shape, dtype, skip=0))]
fn from_bytes(bytes: Vec<u8>, shape: Vec<usize>, dtype: &str, skip: usize) -> PyResult<Tensor> {
    let mut room = vec![0; skip];
    room.extend(bytes);
    let whole = Tensor::from_slice(&room, &[room.len()])?;
    let storage = whole.storage().slice(skip..room.len());
    Ok(Tensor::from_storage(storage, &shape, dtype_of(dtype)?)?)
}

#[pyfunction]
fn read_only(x: Tensor) -> Tensor {
    x.into_read_only()
}

#[pyfunction]
fn transposed(x: Tensor) -> Tensor {
    x.transpose()
}
