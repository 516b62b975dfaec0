//! The class `TensorFile`, and tensors of any framework written to files.

use super::error::{unknown_name, wrong_value};
use super::export::{Conversion, Outcome, convert, explain};
use super::frameworks::Framework;
use super::import::own::Wanted;
use super::on_device::to_device;
use super::readonly::ReadOnlyPolicy;
use super::tensor_object::PyTensor;
use crate::device::Device;
use crate::files::{Format, OpenOptions, SaveOptions, Stored, TensorFile};
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;

/// A file of tensors, of which only the descriptions were read.
#[pyclass(frozen, name = "TensorFile", module = "dlbridge")]
#[derive(Debug)]
pub struct PyTensorFile(TensorFile);

/// Opens a file by mapping it into memory. Tensors for a framework without read-only tensors may be
/// written, which doesn't change the file; those of others are read-only, unless `writable` says
/// otherwise.
///
/// # Errors
///
/// An `OSError` where the file can't be read, a `ValueError` where it isn't what its format
/// requires, a `TypeError` for elements that DLPack doesn't have.
pub fn open_file(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    to: &str,
    writable: Option<bool>,
) -> PyResult<PyTensorFile> {
    let writable = writable.unwrap_or(Framework::named(to)?.needs.writes_all);
    let options = OpenOptions::new()
        .format(format_named(format)?)
        .copy_on_write(writable);
    // SAFETY: a program in Python that changes or truncates a file of which it uses tensors breaks
    // the same promise as one that does so to a `mmap` or a `numpy.memmap`, which the documentation
    // of the function says.
    py.detach(|| unsafe { options.map(path) })
        .map(PyTensorFile)
        .map_err(PyErr::from)
}

/// Reads the descriptions of the tensors of bytes, which they share.
///
/// # Errors
///
/// The same as for [`open_file`]; and a `TypeError` for an object without bytes.
pub fn read_bytes(data: &Bound<'_, PyAny>, format: Option<&str>) -> PyResult<PyTensorFile> {
    let shared = Wanted {
        copy: Some(false),
        device: None,
    };
    let bytes = PyTensor::from_object(data, shared)?;
    let bytes = bytes.get().tensor(data.py())?.as_bytes()?;
    let start = bytes.byte_offset();
    let storage = bytes.storage().slice(start..start + bytes.nbytes());
    let file = TensorFile::from_storage(storage, format_named(format)?)?;
    Ok(PyTensorFile(file))
}

fn format_named(name: Option<&str>) -> PyResult<Option<Format>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let known: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    let known = known.join(", ");
    let found = name.parse().map(Some);
    found.map_err(|_| unknown_name(format!("no format is called {name:?}; there are {known}")))
}

#[pymethods]
impl PyTensorFile {
    /// Returns the format's name.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format().name()
    }

    /// Returns the names of the tensors, in the order of the file.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0.iter().map(Stored::name).collect()
    }

    /// Returns the metadata: names and texts; None where the file has none.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(metadata) = self.0.metadata() else {
            return Ok(None);
        };
        let dict = PyDict::new(py);
        for (name, text) in metadata {
            dict.set_item(name, text)?;
        }
        Ok(Some(dict))
    }

    /// Returns the dtype and the shape of a tensor, without reading it.
    fn describe(&self, name: &str) -> PyResult<(String, Vec<usize>)> {
        let stored = self.0.stored(name)?;
        Ok((stored.dtype().to_string(), stored.shape().to_vec()))
    }

    /// Returns tensors of a framework by name, and by name why some were copied.
    #[pyo3(signature = (names=None, to="dlbridge", device=None))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        names: Option<Vec<String>>,
        to: &str,
        device: Option<Device>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let (tensors, copied) = (PyDict::new(py), PyDict::new(py));
        let names = names.unwrap_or_else(|| {
            let names = self.names();
            names.into_iter().map(str::to_owned).collect()
        });
        for name in &names {
            let (tensor, reason) = load_one(py, self.0.stored(name)?, to, device)?;
            tensors.set_item(name, tensor)?;
            if let Some(reason) = reason {
                copied.set_item(name, reason)?;
            }
        }
        Ok((tensors, copied))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    fn __repr__(&self) -> String {
        let (format, count) = (self.0.format(), self.0.len());
        format!("TensorFile({format:?}, {count} tensors)")
    }
}

/// Returns a tensor as an object of a framework, and why it was copied.
fn load_one<'py>(
    py: Python<'py>,
    stored: &Stored,
    to: &str,
    device: Option<Device>,
) -> PyResult<(Bound<'py, PyAny>, Option<String>)> {
    let framework = Framework::named(to)?;
    let elsewhere = device.filter(|device| *device != Device::CPU);
    // On its way to another device it doesn't matter where the memory is here.
    let align = match elsewhere {
        Some(_) => 1,
        None => framework.needs.alignment,
    };
    let reason = stored.copy_reason(align).map(|reason| reason.to_string());
    let tensor = py.detach(|| stored.tensor(align))?;
    let tensor = as_pairs(tensor, framework)?;
    if let Some(device) = elsewhere {
        let tensor = to_device(&tensor, device)?;
        let object = convert(py, tensor, to, Conversion::default())?;
        return Ok((object, Some(format!("copied to {device}"))));
    }
    let policy = ReadOnlyPolicy::Share;
    let explanation = explain(py, tensor.clone(), to, policy)?;
    let by_framework = match explanation.outcome {
        Outcome::Copied => explanation.incompatibility.map(|why| why.to_string()),
        _ => None,
    };
    let conversion = match by_framework {
        Some(_) => Conversion::from(None),
        None => Conversion::default().readonly(policy),
    };
    let object = convert(py, tensor, to, conversion)?;
    Ok((object, reason.or(by_framework)))
}

/// Returns 4-bit elements as pairs, for a framework that has only those.
fn as_pairs(tensor: Tensor, framework: &Framework) -> PyResult<Tensor> {
    let dtype = tensor.dtype();
    let pairs = dtype.with_lanes(2).map_err(crate::error::Error::from)?;
    let has = framework.needs.has;
    if !dtype.is_sub_byte() || has(dtype) || !has(pairs) {
        return Ok(tensor);
    }
    Ok(tensor.bit_cast(pairs)?)
}

/// Tensors of any framework by name.
type Named<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// Writes tensors of any framework to a file, which appears under its name when it is complete.
/// Returns the names of those that couldn't be aligned. `external` puts the elements of ONNX's
/// message into another file below its folder.
///
/// # Errors
///
/// An `OSError` where the file can't be written, a `TypeError` for objects that aren't tensors and
/// elements that the format doesn't have, a `ValueError` for names or options that it doesn't have.
pub fn save_tensors(
    py: Python<'_>,
    path: PathBuf,
    tensors: Named<'_>,
    format: Option<&str>,
    options: (i64, Option<Vec<(String, String)>>),
    external: Option<String>,
) -> PyResult<Vec<String>> {
    let format = format_named(format)?.or_else(|| Format::of_path(&path));
    let mut options = options_of(format, options)?;
    if let Some(location) = external {
        options = options.external(location);
    }
    with_host_tensors(py, &tensors, |tensors| options.save(&path, tensors))
}

/// Returns the bytes of a file or message with these tensors.
///
/// # Errors
///
/// The same as for [`save_tensors`].
pub fn dump_tensors<'py>(
    py: Python<'py>,
    tensors: Named<'py>,
    format: &str,
    options: (i64, Option<Vec<(String, String)>>),
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options_of(format_named(Some(format))?, options)?;
    let bytes = with_host_tensors(py, &tensors, |tensors| options.to_bytes(tensors))?;
    PyBytes::new_with(py, bytes.len(), |to| {
        to.copy_from_slice(&bytes);
        Ok(())
    })
}

fn options_of(
    format: Option<Format>,
    (align, metadata): (i64, Option<Vec<(String, String)>>),
) -> PyResult<SaveOptions> {
    let format = format.ok_or_else(|| crate::files::FileError::UnknownFormat {
        what: "the file by its name".to_owned(),
    })?;
    let is_valid = |align: &usize| align.is_power_of_two() && *align <= SaveOptions::LARGEST_ALIGN;
    let Some(valid) = usize::try_from(align).ok().filter(is_valid) else {
        let wanted = format!("a power of two up to {}", SaveOptions::LARGEST_ALIGN);
        let reason = format!("expected {wanted} as align, got {align}");
        return Err(wrong_value(align.to_string(), wanted, reason));
    };
    let options = SaveOptions::new(format).align(valid);
    let metadata = metadata.into_iter().flatten();
    Ok(metadata.fold(options, |options, (name, text)| {
        options.metadata(name, text)
    }))
}

/// Calls a function with tensors on the host, without the GIL.
fn with_host_tensors<R: Send>(
    py: Python<'_>,
    tensors: &Named<'_>,
    call: impl FnOnce(&[(&str, &Tensor)]) -> Result<R, crate::files::FileError> + Send,
) -> PyResult<R> {
    let on_host = Wanted {
        copy: None,
        device: Some(Device::CPU),
    };
    let mut kept = Vec::with_capacity(tensors.len());
    for (name, object) in tensors {
        let tensor = PyTensor::from_object(object, on_host)?;
        kept.push((name.as_str(), tensor.get().tensor(py)?));
    }
    py.detach(|| {
        let tensors: Vec<_> = kept.iter().map(|(name, tensor)| (*name, tensor)).collect();
        call(&tensors)
    })
    .map_err(PyErr::from)
}
