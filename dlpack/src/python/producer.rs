//! The producer's side of `__dlpack__`.

use super::capsule::into_capsule;
use crate::abi::{DLDevice, DLDeviceType, Legacy, Versioned};
use crate::managed::Managed;
use pyo3::exceptions::{PyBufferError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyInt, PyTuple};

/// The arguments of `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)`.
#[derive(Debug)]
pub struct Request<'py> {
    /// The stream on which the consumer will use the memory, as it gave it.
    pub stream: Option<Bound<'py, PyInt>>,
    /// The newest DLPack that the consumer understands; `None` for one from before there were
    /// versions.
    pub max_version: Option<(u32, u32)>,
    /// The requested device.
    pub dl_device: Option<DLDevice>,
    /// Whether it wants a copy; `None`: only if there is no other way.
    pub copy: Option<bool>,
}

impl<'py> Request<'py> {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// A `TypeError` for an argument of another type, and a `ValueError`
    /// for one that doesn't exist.
    pub fn parse(
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let stream = match stream {
            None => None,
            Some(stream) if stream.is_instance_of::<PyBool>() => {
                return Err(wrong("stream", "an integer or None", stream));
            }
            Some(stream) => match stream.cast::<PyInt>() {
                Ok(stream) => Some(stream.clone()),
                Err(_) => return Err(wrong("stream", "an integer or None", stream)),
            },
        };
        let max_version = match max_version {
            None => None,
            Some(version) => match pair(version)? {
                Some((major, minor)) => match (major.try_into(), minor.try_into()) {
                    (Ok(major), Ok(minor)) => Some((major, minor)),
                    _ => {
                        return Err(PyValueError::new_err(format!(
                            "max_version must be two numbers that aren't negative, not {version}"
                        )));
                    }
                },
                None => {
                    let wanted = "a tuple (major, minor) or None";
                    return Err(wrong("max_version", wanted, version));
                }
            },
        };
        let dl_device = match dl_device {
            None => None,
            Some(device) => match pair(device)? {
                Some((kind, id)) => match (kind.try_into(), id.try_into()) {
                    (Ok(kind), Ok(device_id)) => Some(DLDevice {
                        device_type: DLDeviceType(kind),
                        device_id,
                    }),
                    _ => {
                        return Err(PyValueError::new_err(format!(
                            "expected a device, got {device}"
                        )));
                    }
                },
                None => {
                    let wanted = "a tuple (device type, device id) or None";
                    return Err(wrong("dl_device", wanted, device));
                }
            },
        };
        let copy = match copy {
            None => None,
            Some(copy) => match copy.cast::<PyBool>() {
                Ok(copy) => Some(copy.is_true()),
                Err(_) => return Err(wrong("copy", "True, False or None", copy)),
            },
        };
        Ok(Self {
            stream,
            max_version,
            dl_device,
            copy,
        })
    }
}

/// Returns a tuple of two integers; `None` for anything else.
fn pair(value: &Bound<'_, PyAny>) -> PyResult<Option<(i64, i64)>> {
    let Ok(tuple) = value.cast::<PyTuple>() else {
        return Ok(None);
    };
    if tuple.len() != 2 {
        return Ok(None);
    }
    // Device types are enums of integers in some frameworks, so any integer will do.
    let numbers = (tuple.get_item(0)?, tuple.get_item(1)?);
    match (numbers.0.extract(), numbers.1.extract()) {
        (Ok(first), Ok(second)) => Ok(Some((first, second))),
        (Err(error), _) | (_, Err(error)) => {
            let py = value.py();
            if error.is_instance_of::<PyTypeError>(py) {
                Ok(None)
            } else if error.is_instance_of::<PyOverflowError>(py) {
                Err(PyValueError::new_err(format!("{value}: {error}")))
            } else {
                Err(error)
            }
        }
    }
}

fn wrong(argument: &str, wanted: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let kind = found.get_type();
    PyTypeError::new_err(format!(
        "{argument} must be {wanted}, not {found:?} of {kind}"
    ))
}

/// A producer: a tensor that can be exported.
///
/// It is safe to implement: what consumers follow is in a [`Managed`], and who makes one has
/// promised that it is true, its flags included.
pub trait Producer {
    /// Returns where the memory is.
    fn device(&self) -> DLDevice;

    /// Orders the memory's use on the consumer's stream, or refuses the stream.
    fn order(&self, stream: Option<&Bound<'_, PyInt>>) -> PyResult<()>;

    /// Shares the memory through either ABI.
    fn share<A: crate::Abi>(&self) -> PyResult<Managed<A>>;

    /// Copies the tensor to a device, and marks it as copied.
    fn copy_to<A: crate::Abi>(&self, device: DLDevice) -> PyResult<Managed<A>>;
}

/// Answers a request with a capsule: versioned for a consumer that understands version 1 or
/// newer, else legacy.
///
/// # Errors
///
/// A `BufferError` where the request can't be met; otherwise what the producer raises.
pub fn answer<'py>(
    py: Python<'py>,
    producer: &impl Producer,
    request: &Request<'py>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let home = producer.device();
    let device = request.dl_device.unwrap_or(home);
    if request.copy == Some(false) && device != home {
        return Err(PyBufferError::new_err(format!(
            "the tensor is on device {}, and getting it to {} needs a copy, which copy=False forbids",
            name(home),
            name(device),
        )));
    }
    producer.order(request.stream.as_ref())?;
    let copies = request.copy == Some(true) || device != home;
    match request.max_version {
        Some((1.., _)) => {
            let managed = if copies {
                producer.copy_to::<Versioned>(device)?
            } else {
                producer.share()?
            };
            into_capsule(py, managed)
        }
        _ => {
            let managed = if copies {
                producer.copy_to::<Legacy>(device)?
            } else {
                producer.share()?
            };
            into_capsule(py, managed)
        }
    }
}

fn name(device: DLDevice) -> String {
    format!("({}, {})", device.device_type.0, device.device_id)
}
