//! The one place where errors become Python exceptions.
//!
//! | exception | for |
//! |---|---|
//! | `BufferError` | memory that can't be exchanged, or not in the way that is asked for |
//! | `TypeError` | objects that aren't tensors |
//! | `ValueError` | tensors that aren't the ones that are asked for |
//! | `LookupError` | names that nothing has |
//! | `MemoryError` | memory that there isn't |
//! | `CudaError`, a `RuntimeError` | failures of a GPU, its driver, NVRTC or cuBLASLt, and what can't be done now |

use crate::dlpack::python::type_lookup;
use crate::dtype::DType;
use crate::error::{AccessError, Error};
#[cfg(feature = "kernels")]
use crate::kernel::{CallError, Failure, Reason};
use pyo3::Borrowed;
use pyo3::exceptions::{
    PyBufferError, PyLookupError, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Why an argument was refused: a Python exception, in one word.
///
/// Arguments are converted often and refused rarely, so the exception isn't kept in place.
#[derive(Debug)]
pub struct Refused(Box<PyErr>);

impl From<PyErr> for Refused {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self(Box::new(error))
    }
}

pyo3::create_exception!(
    dlbridge,
    CudaError,
    PyRuntimeError,
    "A failure of a GPU or of its driver, or something that can't be done now, as while a graph is captured."
);

/// A failure of a GPU, as the package's class where the package is loaded: each extension has a class of its own.
#[cold]
pub(super) fn cuda_failed(message: String) -> PyErr {
    Python::attach(|py| {
        let modules = py.import("sys").and_then(|sys| sys.getattr("modules"));
        let shared = modules
            .and_then(|modules| modules.get_item("dlbridge._core")?.getattr("CudaError"))
            .and_then(|class| Ok(class.cast_into::<PyType>()?));
        match shared {
            Ok(class) => PyErr::from_type(class, message),
            Err(_) => CudaError::new_err(message),
        }
    })
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> Self {
        *refused.0
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Access(AccessError::OutOfMemory { .. }) => PyMemoryError::new_err(message),
            Error::Access(AccessError::InUse { .. }) => cuda_failed(message),
            Error::Access(
                AccessError::NotOnHost { .. }
                | AccessError::Misaligned { .. }
                | AccessError::ReadOnly
                | AccessError::Shared { .. }
                | AccessError::SelfOverlap { .. }
                | AccessError::Interleaved { .. },
            )
            | Error::Export(_) => PyBufferError::new_err(message),
            Error::DType(crate::error::DTypeError::Name { .. })
            | Error::Device(crate::error::DeviceError::Name { .. }) => {
                PyLookupError::new_err(message)
            }
            Error::DType(_) | Error::Device(_) | Error::Layout(_) | Error::Access(_) => {
                PyValueError::new_err(message)
            }
        }
    }
}

/// Of a tensor that another library offers, and that makes no sense.
#[cold]
pub(super) fn not_importable(error: Error) -> PyErr {
    match error {
        Error::Layout(_) | Error::DType(_) | Error::Device(_) => {
            PyBufferError::new_err(error.to_string())
        }
        _ => error.into(),
    }
}

/// Why there is no new tensor. It can be told without Python.
pub(super) enum Unmade {
    /// The shape or the dtype is invalid.
    Tensor(Error),
    /// There is not enough memory on the device.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "there are no devices")
    )]
    NoMemory(String),
    /// The device isn't there.
    NoDevice(String),
    /// The device failed, or can't do that at present.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "there are no devices")
    )]
    Failed(String),
}

impl From<Error> for Unmade {
    fn from(error: Error) -> Self {
        Self::Tensor(error)
    }
}

impl From<Unmade> for PyErr {
    fn from(unmade: Unmade) -> Self {
        match unmade {
            Unmade::Tensor(error) => error.into(),
            Unmade::NoMemory(message) => PyMemoryError::new_err(message),
            Unmade::NoDevice(message) => not_exchangeable(message),
            Unmade::Failed(message) => cuda_failed(message),
        }
    }
}

/// Of an object that is no tensor at all.
#[cold]
pub(super) fn no_tensor(object: &Bound<'_, PyAny>) -> PyErr {
    let what = type_lookup::qualified_name(&object.get_type());
    PyTypeError::new_err(format!(
        "{what} is no tensor: it has neither __dlpack__ nor a buffer"
    ))
}

/// Of a tensor that can be exchanged, but isn't what is asked for.
#[cold]
pub(super) fn unsuitable(message: String) -> PyErr {
    PyValueError::new_err(message)
}

/// Of a tensor that can't be exchanged.
#[cold]
pub(super) fn not_exchangeable(message: impl Into<String>) -> PyErr {
    PyBufferError::new_err(message.into())
}

/// An error with the one that it comes of.
#[cold]
pub(super) fn caused(py: Python<'_>, error: PyErr, cause: PyErr) -> PyErr {
    error.set_cause(py, Some(cause));
    error
}

/// Of a name that nothing has.
#[cold]
pub(super) fn unknown_name(message: String) -> PyErr {
    PyLookupError::new_err(message)
}

/// Of a Python number that an element type hasn't.
#[cold]
pub(super) fn no_such_number(object: Borrowed<'_, '_, PyAny>, dtype: DType) -> PyErr {
    match object.repr() {
        Ok(repr) => unsuitable(format!("{repr} is no {dtype}")),
        Err(error) => error,
    }
}

/// Of a call of an op.
#[cfg(feature = "kernels")]
#[cold]
pub(super) fn of_call(error: CallError) -> PyErr {
    let message = error.to_string();
    match *error.reason {
        Reason::NoSuchOp { .. } | Reason::NoKernel { .. } => unknown_name(message),
        Reason::Missing { .. }
        | Reason::TooMany { .. }
        | Reason::NoSuchArgument { .. }
        | Reason::GivenTwice { .. }
        | Reason::Attribute { .. } => PyTypeError::new_err(message),
        // A copy by the framework may be read-only as well, as JAX's are.
        Reason::ReadOnly { .. } => not_exchangeable(format!(
            "{message} that can be written, such as dlbridge.from_dlpack(x, copy=True)"
        )),
        Reason::SelfOverlap { .. } | Reason::Misaligned { .. } => not_exchangeable(message),
        // What Python raised, such as a framework that has no memory, stays what it is.
        Reason::Allocation { error, .. } => {
            raised(error, &message).unwrap_or_else(|error| match error.downcast::<Error>() {
                Ok(error) => alike(*error, message),
                Err(_) => not_exchangeable(message),
            })
        }
        Reason::Kernel { failure, .. } => {
            raised(failure, &message).unwrap_or_else(|_| PyRuntimeError::new_err(message))
        }
        Reason::Tensor { error, .. } => alike(error, message),
        _ => unsuitable(message),
    }
}

/// The exception that an error becomes, with another text.
#[cfg(feature = "kernels")]
fn alike(error: impl Into<PyErr>, message: String) -> PyErr {
    let error = error.into();
    Python::attach(|py| PyErr::from_type(error.get_type(py), message))
}

/// What Python raised; or what a GPU that failed, or has no memory, raises elsewhere, with another text.
#[cfg(feature = "kernels")]
fn raised(failure: Failure, message: &str) -> Result<PyErr, Failure> {
    let failure = match failure.downcast::<PyErr>() {
        Ok(raised) => return Ok(*raised),
        Err(failure) => failure,
    };
    #[cfg(feature = "cuda")]
    let failure = match failure.downcast::<crate::cuda::CudaError>() {
        Ok(error) => {
            use crate::cuda::CudaError::{Compile, Launch};
            if !error.is_about_exchange() && !matches!(*error, Compile { .. } | Launch { .. }) {
                return Ok(alike(*error, message.to_owned()));
            }
            error
        }
        Err(failure) => failure,
    };
    #[cfg(not(feature = "cuda"))]
    let _ = message;
    Err(failure)
}
