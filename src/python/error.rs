//! The one place where errors become Python exceptions. The table of all of them is
//! `docs/errors.md`, which a test writes.
//!
//! | exception | for |
//! |---|---|
//! | `BufferError` | memory that can't be exchanged, or not as requested |
//! | `TypeError` | objects that aren't tensors, elements of another dtype, wrong arguments |
//! | `ValueError` | tensors of another shape or layout, values that a dtype doesn't have, memory that is in use |
//! | `IndexError` | indices and axes that the tensor doesn't have |
//! | `LookupError` | names that nothing has, ops and kernels that don't exist |
//! | `ModuleNotFoundError`, an `ImportError` | frameworks that aren't installed |
//! | `MemoryError` | memory that can't be allocated |
//! | `CudaError`, a `RuntimeError` | failures of a GPU, its driver, NVRTC or cuBLASLt, and what can't be done now |
//!
//! Each has the attributes `kind`, `found`, `wanted` and `remedy`: the fields of an
//! [`Incompatibility`].

mod fields;
#[cfg(feature = "files")]
mod files;
#[cfg(all(
    test,
    feature = "proto",
    feature = "cuda",
    feature = "hosts",
    not(miri)
))]
mod tests;

use crate::dlpack::python::{AllocationError, type_lookup};
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind as Kind, LayoutError};
#[cfg(feature = "kernels")]
use crate::kernel::{CallError, Failure, Reason};
use fields::{Fields, lazily};
use pyo3::exceptions::{
    PyBufferError, PyException, PyIndexError, PyLookupError, PyMemoryError, PyModuleNotFoundError,
    PyRecursionError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, PyTypeInfo};
use std::borrow::Cow;

pub use cuda_error::CudaError;
pub use fields::fields_of;
#[cfg(feature = "kernels")]
pub(super) use fields::with_fields_of;

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

#[expect(clippy::disallowed_types, reason = "the cell is PyO3's, for its macro")]
mod cuda_error {
    pyo3::create_exception!(
        dlbridge,
        CudaError,
        pyo3::exceptions::PyRuntimeError,
        "A failure of a GPU or of its driver, or something that can't be done now, as while a graph is captured."
    );
}

/// Makes a `CudaError`, of the package's class if the package is loaded: each extension has its
/// own.
#[cold]
pub(super) fn cuda_failed(fields: impl Into<Fields>) -> PyErr {
    let fields = fields.into();
    Python::attach(|py| {
        let modules = py.import("sys").and_then(|sys| sys.getattr("modules"));
        let shared = modules
            .and_then(|modules| modules.get_item("dlbridge._core")?.getattr("CudaError"))
            .and_then(|class| Ok(class.cast_into::<PyType>()?));
        match shared {
            Ok(class) => fields.raise_as(&class),
            Err(_) => fields.raise::<CudaError>(),
        }
    })
}

/// Returns whether an error says that an object isn't a tensor. A `TypeError` that a producer
/// raised while it exported the tensor is a fault of its own.
pub fn is_no_tensor(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py)
        && error.traceback(py).is_none()
        && fields_of(py, error).kind == Kind::Type
}

/// Returns whether an exception ends what is being done, whatever else could be tried: an
/// interrupt, the end of the program, too little memory, too deep a recursion.
#[cold]
pub(super) fn is_final(py: Python<'_>, error: &PyErr) -> bool {
    !error.is_instance_of::<PyException>(py)
        || error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<PyRecursionError>(py)
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> Self {
        *refused.0
    }
}

impl From<Error> for PyErr {
    #[cold]
    fn from(error: Error) -> Self {
        let fields = error.incompatibility();
        match error {
            Error::OutOfMemory { .. } => out_of_memory(fields),
            Error::InUse { .. } => cuda_failed(fields),
            Error::NotOnHost { .. }
            | Error::Misaligned { .. }
            | Error::ReadOnly
            | Error::Shared { .. }
            | Error::SelfOverlap { .. }
            | Error::Interleaved { .. }
            | Error::HasGaps
            | Error::Incompatible(_) => not_exchangeable(fields),
            Error::DType(crate::error::DTypeError::Name { .. })
            | Error::Device(crate::error::DeviceError::Name { .. }) => unknown_name(fields),
            Error::DType(_) | Error::Device(_) | Error::Layout(_) => {
                Fields::from(fields).raise::<PyValueError>()
            }
            _ => unsuitable(fields),
        }
    }
}

impl From<LayoutError> for PyErr {
    #[cold]
    fn from(error: LayoutError) -> Self {
        Error::from(error).into()
    }
}

impl From<Incompatibility> for PyErr {
    #[cold]
    fn from(error: Incompatibility) -> Self {
        not_exchangeable(error)
    }
}

/// Makes the `BufferError` of another library's tensor with an invalid descriptor.
#[cold]
pub(super) fn not_importable(error: Error) -> PyErr {
    match error {
        Error::Layout(_) | Error::DType(_) | Error::Device(_) => {
            not_exchangeable(error.incompatibility())
        }
        _ => error.into(),
    }
}

/// Describes a failed allocation to an exchange table, without Python.
#[cold]
pub(super) fn no_allocation(error: &Error) -> AllocationError {
    AllocationError {
        kind: match error {
            Error::OutOfMemory { .. } => "MemoryError",
            _ => "BufferError",
        },
        message: error.to_string(),
    }
}

/// Makes the `TypeError` of an object that isn't a tensor.
#[cold]
pub(super) fn no_tensor(object: &Bound<'_, PyAny>) -> PyErr {
    let what = type_lookup::qualified_name(&object.get_type()).to_string();
    // It may be one in another way, of which only the caller knows.
    lazily::<PyTypeError>(move || {
        let reason =
            format!("expected a tensor, got {what}, which has neither __dlpack__ nor a buffer");
        let fields = Incompatibility::new(Kind::Type, what, "a tensor");
        fields.with_reason(reason).into()
    })
}

/// Makes the `TypeError` of an object that isn't a collection of tensors, or of a name.
#[cold]
pub(super) fn no_collection(object: &Bound<'_, PyAny>, wanted: &'static str) -> PyErr {
    let found = type_lookup::qualified_name(&object.get_type()).to_string();
    let reason = format!("expected {wanted}, got {found}");
    raise::<PyTypeError>(Incompatibility::new(Kind::Type, found, wanted).with_reason(reason))
}

/// Makes the error of a tensor that isn't as requested: a `TypeError` for its dtype, else a
/// `ValueError`.
#[cold]
pub(super) fn unsuitable(fields: impl Into<Fields>) -> PyErr {
    let fields = fields.into();
    match fields.kind() {
        Kind::DType | Kind::Type | Kind::Argument => fields.raise::<PyTypeError>(),
        _ => fields.raise::<PyValueError>(),
    }
}

/// Makes an exception of any class, with the fields of what didn't fit as attributes.
#[cold]
pub fn raise<T: PyTypeInfo + 'static>(fields: Incompatibility) -> PyErr {
    Fields::from(fields).raise::<T>()
}

/// Makes the `TypeError` of a wrong argument: missing, superfluous, or of another type.
#[cold]
pub fn wrong_argument(
    found: impl Into<Cow<'static, str>>,
    wanted: impl Into<Cow<'static, str>>,
    reason: impl Into<Cow<'static, str>>,
) -> PyErr {
    raise::<PyTypeError>(Incompatibility::new(Kind::Argument, found, wanted).with_reason(reason))
}

/// Makes the `ValueError` of an argument whose type is right, and whose value isn't.
#[cold]
pub fn wrong_value(
    found: impl Into<Cow<'static, str>>,
    wanted: impl Into<Cow<'static, str>>,
    reason: impl Into<Cow<'static, str>>,
) -> PyErr {
    raise::<PyValueError>(Incompatibility::new(Kind::Argument, found, wanted).with_reason(reason))
}

/// Makes the `IndexError` of an index that the tensor doesn't have.
#[cold]
pub(super) fn wrong_index(
    found: impl Into<Cow<'static, str>>,
    wanted: impl Into<Cow<'static, str>>,
    reason: impl Into<Cow<'static, str>>,
) -> PyErr {
    raise::<PyIndexError>(Incompatibility::new(Kind::Index, found, wanted).with_reason(reason))
}

/// Makes the `BufferError` of a tensor that can't be exchanged.
#[cold]
pub(super) fn not_exchangeable(fields: impl Into<Fields>) -> PyErr {
    fields.into().raise::<PyBufferError>()
}

/// Makes the `MemoryError` of a failed allocation.
#[cold]
pub(super) fn out_of_memory(fields: impl Into<Fields>) -> PyErr {
    fields.into().raise::<PyMemoryError>()
}

/// Sets the cause of an error.
#[cold]
pub(super) fn caused(py: Python<'_>, error: PyErr, cause: PyErr) -> PyErr {
    error.set_cause(py, Some(cause));
    error
}

/// Makes the `ImportError` of a framework that isn't installed.
#[cold]
pub(super) fn not_installed(fields: impl Into<Fields>) -> PyErr {
    fields.into().raise::<PyModuleNotFoundError>()
}

/// Makes the `LookupError` of an unknown name.
#[cold]
pub(super) fn unknown_name(fields: impl Into<Fields>) -> PyErr {
    fields.into().raise::<PyLookupError>()
}

/// Returns an integer's digits, for a message. Python has none of integers of thousands.
#[cold]
pub(super) fn digits(integer: &Bound<'_, PyAny>) -> String {
    let text = integer
        .str()
        .and_then(|text| Ok(text.to_cow()?.into_owned()));
    text.unwrap_or_else(|_| "an integer of thousands of digits".to_owned())
}

/// Makes the error of a Python number that a dtype can't represent.
#[cold]
pub(super) fn no_such_number(object: Borrowed<'_, '_, PyAny>, dtype: DType) -> PyErr {
    match object.repr() {
        Ok(repr) => unsuitable(
            Incompatibility::new(Kind::Value, repr.to_string(), dtype.to_string())
                .with_reason(format!("{repr} can't be stored as {dtype}")),
        ),
        Err(error) => error,
    }
}

/// Makes the exception of a failed call of an op.
#[cfg(feature = "kernels")]
#[cold]
pub(super) fn of_call(error: CallError) -> PyErr {
    let fields = Fields::of_call(&error);
    match *error.reason {
        Reason::NoSuchOp { .. } | Reason::NoKernel { .. } => unknown_name(fields),
        // A copy by the framework may be read-only as well, as JAX's are.
        Reason::Incompatible { .. } => match fields.kind() {
            Kind::ReadOnly => not_exchangeable(fields.with_more_remedy(
                " that can be written, such as dlbridge.from_dlpack(x, copy=True)",
            )),
            Kind::Overlap | Kind::Alignment => not_exchangeable(fields),
            Kind::Index => fields.raise::<PyIndexError>(),
            _ => unsuitable(fields),
        },
        // What Python raised, such as a framework that has no memory, stays what it is.
        Reason::Allocation { error, .. } => {
            raised(error, &fields).unwrap_or_else(|error| match error.downcast::<Error>() {
                Ok(error) => alike(*error, fields),
                Err(_) => not_exchangeable(fields),
            })
        }
        Reason::Kernel { failure, .. } => raised(failure, &fields)
            .unwrap_or_else(|_| fields.raise::<pyo3::exceptions::PyRuntimeError>()),
        Reason::Tensor { error, .. } => alike(error, fields),
        _ => unsuitable(fields),
    }
}

/// Makes an exception of an error's class, with another text.
#[cfg(feature = "kernels")]
fn alike(error: impl Into<PyErr>, fields: Fields) -> PyErr {
    let error = error.into();
    Python::attach(|py| fields.raise_as(&error.get_type(py)))
}

/// Returns the exception that Python raised, or that of a failed GPU, with another text.
#[cfg(feature = "kernels")]
fn raised(failure: Failure, fields: &Fields) -> Result<PyErr, Failure> {
    let failure = match failure.downcast::<PyErr>() {
        Ok(raised) => return Ok(*raised),
        Err(failure) => failure,
    };
    #[cfg(feature = "cuda")]
    let failure = match failure.downcast::<crate::cuda::CudaError>() {
        Ok(error) => {
            use crate::cuda::CudaError::{Compile, Launch};
            if !error.is_about_exchange() && !matches!(*error, Compile { .. } | Launch { .. }) {
                return Ok(alike(*error, fields.clone()));
            }
            error
        }
        Err(failure) => failure,
    };
    #[cfg(not(feature = "cuda"))]
    let _ = fields;
    Err(failure)
}
