//! Exceptions of files and messages.

use super::{Kind, fields::Fields, unknown_name};
use crate::error::Incompatibility;
use crate::files::FileError;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;

impl From<FileError> for PyErr {
    #[cold]
    fn from(error: FileError) -> Self {
        let text = error.to_string();
        match error {
            FileError::Tensor(error) => error.into(),
            FileError::Io { path, error } => os_error(&path, &error),
            FileError::NoSuchTensor { name, .. } => {
                let fields = Incompatibility::new(Kind::Name, name, "a tensor's name");
                unknown_name(fields.with_reason(text))
            }
            FileError::UnsupportedType { found, .. } => {
                let fields = Incompatibility::new(Kind::DType, found, "a dtype of DLPack");
                Fields::from(fields.with_reason(text)).raise::<PyTypeError>()
            }
            FileError::Unwritable {
                format,
                dtype,
                remedy,
                ..
            } => {
                let wanted = format!("a dtype of {format}");
                let fields = Incompatibility::new(Kind::DType, dtype.to_string(), wanted);
                let fields = with_remedy(fields, &text, remedy);
                Fields::from(fields).raise::<PyTypeError>()
            }
            FileError::Unsupported { remedy, .. } => {
                let fields = Incompatibility::from_reason(Kind::Value, "");
                let fields = with_remedy(fields, &text, remedy);
                Fields::from(fields).raise::<PyValueError>()
            }
            _ => {
                let fields = Incompatibility::from_reason(Kind::Value, text);
                Fields::from(fields).raise::<PyValueError>()
            }
        }
    }
}

/// Splits an error's text at the remedy that it ends with.
fn with_remedy(fields: Incompatibility, text: &str, remedy: &'static str) -> Incompatibility {
    let reason = text.strip_suffix(remedy).unwrap_or(text);
    let reason = reason.strip_suffix("; ").unwrap_or(reason).to_owned();
    fields.with_reason(reason).with_remedy(remedy)
}

/// Creates the exception of the system: Python makes it a `FileNotFoundError` or another one by the
/// number.
fn os_error(path: &std::path::Path, error: &std::io::Error) -> PyErr {
    let path = path.display().to_string();
    match error.raw_os_error() {
        Some(number) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or(&text).to_owned();
            PyOSError::new_err((number, text, path))
        }
        None => PyOSError::new_err(format!("{path}: {error}")),
    }
}
