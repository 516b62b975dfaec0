//! How each framework takes a tensor. None of them is imported before it is asked for.

use super::permitted::Permitted;
use crate::dlpack::Legacy;
use crate::dlpack::python::{Table, into_capsule};
use crate::dtype::DType;
use crate::error::Error;
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use crate::python::frameworks::numpy;
use crate::python::frameworks::paddle;
use crate::python::import::type_cache::Maker;
use crate::python::refusal;
use crate::tensor::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyDict, PyType};

/// Hands over a tensor that was found to fit.
pub(in crate::python) type Give = for<'py> fn(Python<'py>, Tensor) -> PyResult<Bound<'py, PyAny>>;

pub(in crate::python) fn own(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    Ok(tensor.into_pyobject(py)?.into_any())
}

pub(in crate::python) fn to_numpy(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    numpy::make(py, tensor)
}

pub(in crate::python) fn to_torch(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static TABLE: PyOnceLock<Table> = PyOnceLock::new();
    by_table(py, table_in(py, &TABLE, "torch")?, Maker::Torch, tensor)
}

pub(in crate::python) fn to_paddle(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static TABLE: PyOnceLock<Table> = PyOnceLock::new();
    by_table(py, table_in(py, &TABLE, "paddle")?, Maker::Paddle, tensor)
}

pub(in crate::python) fn by_table(
    py: Python<'_>,
    table: Table,
    maker: Maker,
    tensor: Tensor,
) -> PyResult<Bound<'_, PyAny>> {
    cuda::given_by_table(py, &tensor, table, maker)?;
    let (name, made) = match maker {
        Maker::Paddle => ("paddle", paddle::export::make(py, table, tensor)),
        Maker::Torch => ("torch", table.make_object(py, tensor.into_dlpack())),
        Maker::Other => ("the framework", table.make_object(py, tensor.into_dlpack())),
    };
    made.map_err(|error| refusal::by_consumer(py, name, error))
}

/// The table of a framework's tensors, looked up once.
fn table_in(py: Python<'_>, known: &'static PyOnceLock<Table>, module: &str) -> PyResult<Table> {
    known
        .get_or_try_init(py, || find_table(py, module))
        .copied()
}

fn find_table(py: Python<'_>, module: &str) -> PyResult<Table> {
    let kind = py.import(module)?.getattr(intern!(py, "Tensor"))?;
    Table::of_type(kind.cast::<PyType>()?)
        .ok_or_else(|| not_exchangeable(format!("this version of {module} has no exchange table")))
}

pub(in crate::python) fn to_tensorflow(
    py: Python<'_>,
    tensor: Tensor,
) -> PyResult<Bound<'_, PyAny>> {
    // TensorFlow's tensors never change: it counts memory that came from elsewhere as not its own,
    // which no operation uses again for its result.
    let capsule = legacy_capsule(py, tensor)?;
    py.import(intern!(py, "tensorflow"))?
        .getattr(intern!(py, "experimental"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method1(intern!(py, "from_dlpack"), (capsule,))
}

/// A capsule of the older kind, which doesn't say whether memory is read-only.
fn legacy_capsule(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyCapsule>> {
    // SAFETY: read-only memory gets here for a framework that never writes to its tensors, or with
    // the policy's leave: then the Python program was told not to write through the result.
    let managed = unsafe { tensor.export_unmarked::<Legacy>() }.map_err(Error::from)?;
    into_capsule(py, managed)
}

/// A tensor as the object that a framework's own function takes. One that is read-only got here with
/// the policy's leave, or for a framework that copies it: neither is asked for again.
pub(in crate::python) fn importable(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    match tensor.is_read_only() {
        true => Ok(Bound::new(py, Permitted::from(tensor))?.into_any()),
        false => own(py, tensor),
    }
}

pub(in crate::python) fn to_mlx(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let mlx = py.import(intern!(py, "mlx.core"))?;
    let is_f64 = tensor.dtype() == DType::F64;
    let tensor = importable(py, tensor)?;
    if is_f64 {
        // It would narrow what it isn't told to keep.
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "dtype"), mlx.getattr(intern!(py, "float64"))?)?;
        return mlx.call_method(intern!(py, "array"), (tensor,), Some(&keywords));
    }
    match mlx.getattr_opt(intern!(py, "from_dlpack"))? {
        Some(from_dlpack) => from_dlpack.call1((tensor,)),
        None => mlx.call_method1(intern!(py, "array"), (tensor,)),
    }
}

pub(in crate::python) fn to_cupy(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "cupy"))?
        .call_method1(intern!(py, "from_dlpack"), (importable(py, tensor)?,))
}

/// One dimension becomes an array, others a tensor.
pub(in crate::python) fn to_pyarrow(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let pyarrow = py.import(intern!(py, "pyarrow"))?;
    if tensor.rank() != 1 || !tensor.layout().is_contiguous() {
        let array = numpy::make(py, tensor)?;
        return pyarrow
            .getattr(intern!(py, "Tensor"))?
            .call_method1(intern!(py, "from_numpy"), (array,));
    }
    let dtype = match tensor.dtype() {
        DType::F16 => "float16".to_owned(),
        dtype => dtype.to_string(),
    };
    let element_type = pyarrow.call_method0(dtype.as_str())?;
    let (address, bytes, len) = (tensor.data_ptr().addr(), tensor.nbytes(), tensor.len());
    let buffer = pyarrow.call_method1(intern!(py, "foreign_buffer"), (address, bytes, tensor))?;
    let buffers = [py.None().into_bound(py), buffer];
    pyarrow.getattr(intern!(py, "Array"))?.call_method1(
        intern!(py, "from_buffers"),
        (element_type, len, buffers.to_vec()),
    )
}

pub(in crate::python) fn to_tvm(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "tvm"))?
        .getattr(intern!(py, "runtime"))?
        .call_method1(intern!(py, "from_dlpack"), (importable(py, tensor)?,))
}

pub(in crate::python) fn to_tvm_ffi(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "tvm_ffi"))?
        .call_method1(intern!(py, "from_dlpack"), (importable(py, tensor)?,))
}

pub(in crate::python) fn to_mxnet(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    // It looks at strides that say nothing.
    let tensor = tensor.reshape(tensor.shape())?;
    py.import(intern!(py, "mxnet"))?
        .getattr(intern!(py, "nd"))?
        .call_method1(intern!(py, "from_dlpack"), (legacy_capsule(py, tensor)?,))
}

pub(in crate::python) fn to_onnxruntime(
    py: Python<'_>,
    tensor: Tensor,
) -> PyResult<Bound<'_, PyAny>> {
    let is_bool = tensor.dtype() == DType::BOOL;
    let tensor = if is_bool {
        // It has no code for them, and is told.
        tensor.bit_cast(DType::U8)?
    } else {
        tensor
    };
    let module = py.import(intern!(py, "onnxruntime"))?;
    let inner = py
        .import(intern!(py, "onnxruntime.capi._pybind_state"))?
        .getattr(intern!(py, "OrtValue"))?
        .call_method1(
            intern!(py, "from_dlpack"),
            (legacy_capsule(py, tensor)?, is_bool),
        )?;
    module.getattr(intern!(py, "OrtValue"))?.call1((inner,))
}
