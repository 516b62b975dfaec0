//! The classes `DType` and `Device`: values with names.

use crate::device::Device;
use crate::dtype::DType;
use pyo3::prelude::*;
use pyo3::types::PyString;

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

            fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
                PyString::new(py, &self.0.to_string()).hash()
            }
        }
    };
}

named! { PyDType(DType) {
    /// The name, as in "float32".
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    /// How many bits each number has.
    #[getter]
    fn bits(&self) -> u8 {
        self.0.bits()
    }

    /// How many numbers make one element.
    #[getter]
    fn lanes(&self) -> u16 {
        self.0.lanes()
    }
} }

named! { PyDevice(Device) {
    /// The kind of device, as in "cuda".
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// The number among devices of its kind.
    #[getter]
    fn id(&self) -> i32 {
        self.0.id()
    }
} }
