//! The classes `DType` and `Device`: values with names.

mod known;

use crate::device::Device;
use crate::dlpack::python::intern;
use crate::dlpack::{DLDevice, DLDeviceType};
use crate::dtype::DType;
use crate::error::Error;
use crate::error::IncompatibilityKind as Kind;
use crate::python::error::unsuitable;
use crate::python::frameworks::numpy;
use pyo3::Borrowed;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString, PyType};

/// An element type. Its str is the name, and it equals the name.
#[pyclass(frozen, name = "DType", module = "dlbridge")]
#[derive(Debug)]
pub struct PyDType(pub DType);

/// A device. Its str is the name, and it equals the name.
#[pyclass(frozen, name = "Device", module = "dlbridge")]
#[derive(Debug)]
pub struct PyDevice(pub Device);

/// What both have: they compare with their own kind and with names.
macro_rules! named {
    ($Class:ident($Value:ty) { $($methods:tt)* }) => {
        #[pymethods]
        impl $Class {
            #[new]
            fn new(value: $Value) -> Self {
                Self(value)
            }

            $($methods)*

            fn __str__(&self) -> String {
                self.0.to_string()
            }

            fn __repr__(&self) -> String {
                format!(concat!(stringify!($Value), "({:?})"), self.0.to_string())
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                if let Ok(other) = other.cast::<Self>() {
                    return self.0 == other.get().0;
                }
                // Only the name that it prints, so that equal ones have the same hash.
                let name = other.extract::<String>();
                name.is_ok_and(|name| name == self.0.to_string())
            }

            fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
                slf
            }

            fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'_, PyAny>) -> Bound<'py, Self> {
                slf
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (String,)) {
                (slf.get_type(), (slf.get().0.to_string(),))
            }

            fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
                PyString::new(py, &self.0.to_string()).hash()
            }
        }
    };
}

named! { PyDType(DType) {
    /// Returns the name, as in "float32".
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    /// Returns how many bits each number has.
    #[getter]
    fn bits(&self) -> u8 {
        self.0.bits()
    }

    /// Returns how many numbers make one element.
    #[getter]
    fn lanes(&self) -> u16 {
        self.0.lanes()
    }
} }

named! { PyDevice(Device) {
    /// Returns the kind of device, as in "cuda".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// Returns the number among devices of its kind.
    #[getter]
    fn id(&self) -> i32 {
        self.0.id()
    }
} }

/// By name, as an object of this class, as Python's `bool`, `int`, `float` or `complex`, or as any
/// framework's element type: their names are ours.
impl FromPyObject<'_, '_> for DType {
    type Error = PyErr;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::DTYPE_LIKE;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.cast::<PyString>() {
            return by_name(&name.to_string_lossy());
        }
        if let Ok(dtype) = object.cast::<PyDType>() {
            return Ok(dtype.get().0);
        }
        if let Some(dtype) = known::find(object) {
            return Ok(dtype);
        }
        let dtype = of_another_package(object)?;
        known::keep(object, dtype);
        Ok(dtype)
    }
}

/// Returns whether an object is read as a dtype without making another one.
#[cfg(feature = "kernels")]
#[inline]
pub(in crate::python) fn is_at_hand(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyDType>() || known::find(object).is_some()
}

/// Reads Python's `bool` and the like, and any framework's element type.
fn of_another_package(object: Borrowed<'_, '_, PyAny>) -> PyResult<DType> {
    let py = object.py();
    let builtins = [
        (py.get_type::<PyBool>(), DType::BOOL),
        (py.get_type::<PyInt>(), DType::I64),
        (py.get_type::<PyFloat>(), DType::F64),
        (py.get_type::<PyComplex>(), DType::C128),
    ];
    if let Some((_, dtype)) = builtins.iter().find(|(kind, _)| object.is(kind)) {
        return Ok(*dtype);
    }
    // NumPy's scalars have names of their own.
    if let Some(dtype) = numpy::dtype_of_scalar_class(object)? {
        return dtype.extract();
    }
    if let Some(is_native) = object.getattr_opt(intern!(py, "isnative"))?
        && !is_native.is_truthy()?
    {
        return Err(unsuitable((
            Kind::Value,
            format!(
                "{} is of the other byte order, and no element type that DLPack has",
                object.str()?
            ),
        )));
    }
    // A scalar's class, as `ml_dtypes.bfloat16`; an object with a name, as `numpy.dtype`; one
    // whose str ends with it, as `torch.float32`.
    let attribute = if object.is_instance_of::<PyType>() {
        intern!(py, "__name__")
    } else {
        intern!(py, "name")
    };
    let name = match object.getattr_opt(attribute)? {
        Some(name) if name.is_instance_of::<PyString>() => name.str()?,
        _ => object.str()?,
    };
    by_name(&name.to_string_lossy())
}

/// Returns the dtype of a name, as "float32", "torch.float32" or "FLOAT32".
fn by_name(name: &str) -> PyResult<DType> {
    if let Ok(dtype) = name.parse() {
        return Ok(dtype);
    }
    let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let found = last.parse().or_else(|_| name.parse());
    Ok(found.map_err(Error::from)?)
}

/// Returns DLPack's number of a kind of devices, and a device's own; `None` for what isn't two
/// such numbers.
fn type_and_id(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<(u32, i32)>> {
    let py = object.py();
    match object.extract() {
        Ok(numbers) => Ok(Some(numbers)),
        Err(error)
            if error.is_instance_of::<PyTypeError>(py)
                || error.is_instance_of::<PyValueError>(py)
                || error.is_instance_of::<PyOverflowError>(py) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// By name, as an object of this class, or as a framework's device: their str is a name.
impl FromPyObject<'_, '_> for Device {
    type Error = PyErr;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::DEVICE_LIKE;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Ok(device) = object.cast::<PyDevice>() {
            return Ok(device.get().0);
        }
        if let Some((kind, id)) = type_and_id(object)? {
            let device = DLDevice {
                device_type: DLDeviceType(kind),
                device_id: id,
            };
            return Ok(Self::try_from(device).map_err(Error::from)?);
        }
        let name = match object.cast::<PyString>() {
            Ok(name) => name.to_owned(), // A subclass may have another str.
            Err(_) => object.str()?,
        };
        Ok(name.to_string_lossy().parse().map_err(Error::from)?)
    }
}
