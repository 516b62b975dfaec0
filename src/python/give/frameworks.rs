//! The frameworks by name, and what each of them can have.

use crate::dlpack::Legacy;
use crate::dlpack::python::{Table, into_capsule};
use crate::dtype::DType;
use crate::error::Error;
use crate::python::error::not_exchangeable;
use crate::python::lane::Maker;
use crate::python::numpy;
use crate::tensor::Tensor;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// A framework, and how it takes a tensor.
pub(super) struct Framework {
    pub(super) name: &'static str,
    /// The packages that its types say that they are from.
    modules: &'static [&'static str],
    pub(super) give: for<'py> fn(Python<'py>, Tensor) -> PyResult<Bound<'py, PyAny>>,
}

impl Framework {
    pub(super) fn makes(&self, module: &str) -> bool {
        self.modules.contains(&module)
    }
}

pub(super) static FRAMEWORKS: [Framework; 8] = [
    Framework {
        name: "dlbridge",
        modules: &["dlbridge"],
        give: own,
    },
    Framework {
        name: "numpy",
        modules: &["numpy"],
        give: numpy::make,
    },
    Framework {
        name: "torch",
        modules: &["torch"],
        give: to_torch,
    },
    Framework {
        name: "jax",
        modules: &["jax", "jaxlib"],
        give: to_jax,
    },
    Framework {
        name: "tensorflow",
        modules: &["tensorflow"],
        give: to_tensorflow,
    },
    Framework {
        name: "paddle",
        modules: &["paddle"],
        give: to_paddle,
    },
    Framework {
        name: "mlx",
        modules: &["mlx"],
        give: to_mlx,
    },
    Framework {
        name: "cupy",
        modules: &["cupy"],
        give: to_cupy,
    },
];

pub(super) fn own(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    Ok(tensor.into_pyobject(py)?.into_any())
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

fn to_torch(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static TABLE: PyOnceLock<Table> = PyOnceLock::new();
    by_table(py, table_in(py, &TABLE, "torch")?, Maker::Torch, tensor)
}

fn to_paddle(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    static TABLE: PyOnceLock<Table> = PyOnceLock::new();
    by_table(py, table_in(py, &TABLE, "paddle")?, Maker::Paddle, tensor)
}

pub(super) fn by_table(
    py: Python<'_>,
    table: Table,
    maker: Maker,
    tensor: Tensor,
) -> PyResult<Bound<'_, PyAny>> {
    match maker {
        Maker::Torch => check(&tensor, "PyTorch", has_torch)?,
        Maker::Paddle => check(&tensor, "Paddle", has_paddle)?,
        Maker::Other => {}
    }
    table.make_object(py, tensor.into_dlpack())
}

/// Both lose a tensor that they refuse, and write to memory that is marked as read-only; so they
/// only get what they can have.
#[inline]
fn check(tensor: &Tensor, name: &str, has: fn(DType) -> bool) -> PyResult<()> {
    let is_forwards = tensor.strides().iter().all(|stride| *stride >= 0);
    if has(tensor.dtype()) && is_forwards && !tensor.is_read_only() && !tensor.is_padded() {
        return Ok(());
    }
    Err(why_not(tensor, name, has))
}

#[cold]
fn why_not(tensor: &Tensor, name: &str, has: fn(DType) -> bool) -> PyErr {
    not_exchangeable(if tensor.is_read_only() {
        format!("the tensor is read-only, and {name} writes to memory all the same; copy it first")
    } else if !has(tensor.dtype()) || tensor.is_padded() {
        let padded = if tensor.is_padded() { "padded " } else { "" };
        format!("{name} has no {padded}{}", tensor.dtype())
    } else {
        let strides = tensor.strides();
        format!("{name} has no negative strides, as in {strides:?}; copy the tensor first")
    })
}

fn has_torch(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::BOOL
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::F16
            | DType::BF16
            | DType::F32
            | DType::F64
            | DType::C32
            | DType::C64
            | DType::C128
            | DType::F8_E4M3FN
            | DType::F8_E4M3FNUZ
            | DType::F8_E5M2
            | DType::F8_E5M2FNUZ
            | DType::F8_E8M0FNU
    )
}

fn has_paddle(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::BOOL
            | DType::U8
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::F16
            | DType::BF16
            | DType::F32
            | DType::F64
            | DType::C64
            | DType::C128
            | DType::F8_E4M3FN
            | DType::F8_E5M2
    )
}

fn to_jax(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let jax = py.import(intern!(py, "jax"))?;
    let dtype = tensor.dtype();
    if dtype.bits() == 64 || dtype == DType::C128 {
        let config = jax.getattr(intern!(py, "config"))?;
        if !config.getattr(intern!(py, "jax_enable_x64"))?.is_truthy()? {
            return Err(not_exchangeable(format!(
                "JAX would narrow {dtype}; set jax_enable_x64"
            )));
        }
    }
    let keywords = PyDict::new(py);
    // Otherwise it copies memory that isn't aligned as it wants.
    keywords.set_item(intern!(py, "copy"), false)?;
    jax.getattr(intern!(py, "dlpack"))?.call_method(
        intern!(py, "from_dlpack"),
        (tensor,),
        Some(&keywords),
    )
}

/// What TensorFlow's memory is aligned to; it aborts when an operation finds it otherwise.
const TENSORFLOW_ALIGNMENT: usize = 64;

fn to_tensorflow(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let address = tensor.data_ptr().addr();
    if !tensor.is_empty() && !address.is_multiple_of(TENSORFLOW_ALIGNMENT) {
        return Err(not_exchangeable(format!(
            "TensorFlow needs memory that is aligned to {TENSORFLOW_ALIGNMENT} bytes, and the tensor is at {address:#x}; copy it first"
        )));
    }
    if !tensor.layout().is_contiguous() {
        return Err(not_exchangeable(format!(
            "TensorFlow needs elements that are row-major without gaps, and these have shape {:?}, strides {:?}; copy the tensor first",
            tensor.shape(),
            tensor.strides()
        )));
    }
    let managed = tensor.export_into::<Legacy>().map_err(Error::from)?;
    py.import(intern!(py, "tensorflow"))?
        .getattr(intern!(py, "experimental"))?
        .getattr(intern!(py, "dlpack"))?
        .call_method1(intern!(py, "from_dlpack"), (into_capsule(py, managed)?,))
}

fn to_mlx(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "mlx.core"))?
        .call_method1(intern!(py, "array"), (tensor,))
}

fn to_cupy(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "cupy"))?
        .call_method1(intern!(py, "from_dlpack"), (tensor,))
}
