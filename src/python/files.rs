//! The class `TensorFile`, and tensors of any framework written to files.

mod load;

use super::error::{unknown_name, wrong_argument, wrong_value};
use super::frameworks::Framework;
use super::import::own::Wanted;
use super::tensor_object::PyTensor;
use crate::device::Device;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::files::{Format, OpenOptions, SaveOptions, Stored, TensorFile};
use crate::tensor::Tensor;
use load::load;
use pyo3::Borrowed;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::path::PathBuf;

/// A file of tensors, of which only the descriptions were read.
#[pyclass(frozen, name = "TensorFile", module = "dlbridge")]
#[derive(Debug)]
pub struct PyTensorFile {
    file: TensorFile,
    /// Whether tensors that share the file's memory may be written; `None` for those of frameworks
    /// without read-only tensors alone.
    writable: Option<bool>,
}

/// Opens a file by mapping it into memory. Tensors of a framework without read-only tensors may be
/// written, which doesn't change the file; those of others are read-only, unless `writable` says
/// otherwise. `to`: the framework of all tensors, if that is known.
///
/// # Errors
///
/// An `OSError` where the file can't be read, a `ValueError` where it isn't what its format
/// requires, a `TypeError` for elements that DLPack doesn't have.
pub fn open_file(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    to: Option<&str>,
    writable: Option<bool>,
) -> PyResult<PyTensorFile> {
    let framework = to.map(Framework::named).transpose()?;
    let writable = writable.or(framework.map(|framework| framework.needs.writes_all));
    let options = OpenOptions::new()
        .format(format_named(format)?)
        .copy_on_write(writable != Some(false));
    // SAFETY: a program in Python that changes or truncates a file of which it uses tensors breaks
    // the same promise as one that does so to a `mmap` or a `numpy.memmap`, which the documentation
    // of the function says.
    let file = py.detach(|| unsafe { options.map(path) })?;
    Ok(PyTensorFile { file, writable })
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
    let writable = bytes.is_read_only().then_some(false);
    let file = TensorFile::from_writable(storage, format_named(format)?)?;
    Ok(PyTensorFile { file, writable })
}

fn format_named(name: Option<&str>) -> PyResult<Option<Format>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let known: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
    let known = known.join(", ");
    let found = name.parse().map(Some);
    found.map_err(|_| {
        let error = Incompatibility::new(Kind::Name, name.to_owned(), "a format's name")
            .with_reason(format!("no format is called {name:?}"))
            .with_remedy(format!("there are {known}"));
        unknown_name(error)
    })
}

#[pymethods]
impl PyTensorFile {
    /// Returns the format's name.
    #[getter]
    fn format(&self) -> &'static str {
        self.file.format().name()
    }

    /// Returns the names of the tensors, in the order of the file.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.file.iter().map(Stored::name).collect()
    }

    /// Returns the metadata: names and texts; None where the file has none.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(metadata) = self.file.metadata() else {
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
        let stored = self.file.stored(name)?;
        Ok((stored.dtype().to_string(), stored.shape().to_vec()))
    }

    /// Returns tensors of a framework by name, and by name why some were copied.
    #[pyo3(signature = (names=None, to="dlbridge", device=None))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        names: Option<Bound<'py, PyAny>>,
        to: &str,
        device: Option<Device>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let (tensors, copied) = (PyDict::new(py), PyDict::new(py));
        let names = match names {
            Some(names) => several_names(&names)?,
            None => self.names().into_iter().map(str::to_owned).collect(),
        };
        for name in &names {
            let stored = self.file.stored(name)?;
            let (tensor, reason) = load(py, stored, to, device, self.writable)?;
            tensors.set_item(name, tensor)?;
            if let Some(reason) = reason {
                copied.set_item(name, reason)?;
            }
        }
        Ok((tensors, copied))
    }

    fn __len__(&self) -> usize {
        self.file.len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        let name = name.extract::<&str>();
        name.is_ok_and(|name| self.file.get(name).is_some())
    }

    fn __repr__(&self) -> String {
        let (format, count) = (self.file.format(), self.file.len());
        format!("TensorFile({format:?}, {count} tensors)")
    }
}

/// Returns the names of an iterable, which a single name is as well by its letters.
fn several_names(names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if names.is_instance_of::<PyString>() {
        let reason = "expected several names, got a str; pass a list";
        return Err(wrong_argument("str", "several names", reason));
    }
    names.try_iter()?.map(|name| name?.extract()).collect()
}

/// Tensors of any framework by name.
type Named<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// What positions in a file are multiples of, and its metadata.
type Layout = (Align, Option<Vec<(String, String)>>);

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
    options: Layout,
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
    options: Layout,
) -> PyResult<Bound<'py, PyBytes>> {
    let options = options_of(format_named(Some(format))?, options)?;
    let bytes = with_host_tensors(py, &tensors, |tensors| options.to_bytes(tensors))?;
    PyBytes::new_with(py, bytes.len(), |to| {
        to.copy_from_slice(&bytes);
        Ok(())
    })
}

/// What positions in a file are multiples of.
#[derive(Debug, Clone, Copy)]
pub struct Align(usize);

impl FromPyObject<'_, '_> for Align {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let is_valid =
            |align: usize| align.is_power_of_two() && align <= SaveOptions::LARGEST_ALIGN;
        match object.extract::<usize>() {
            Ok(align) if is_valid(align) => return Ok(Self(align)),
            Err(error) if !error.is_instance_of::<PyOverflowError>(object.py()) => {
                return Err(error);
            }
            _ => {}
        }
        let found = object.str()?.to_string();
        let wanted = format!("a power of two up to {}", SaveOptions::LARGEST_ALIGN);
        let reason = format!("expected {wanted} as align, got {found}");
        Err(wrong_value(found, wanted, reason))
    }
}

fn options_of(format: Option<Format>, (align, metadata): Layout) -> PyResult<SaveOptions> {
    let format = format.ok_or_else(|| crate::files::FileError::UnknownFormat {
        what: "the file by its name".to_owned(),
    })?;
    let options = SaveOptions::new(format).align(align.0);
    Ok(options.all_metadata(metadata))
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
