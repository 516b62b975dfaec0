//! The choice of the format, and of its reader.

use super::error::FileError;
use super::format::Format;
use super::source::Source;
use super::stored::Found;
use super::{bulk, npy, npz, safetensors};
#[cfg(feature = "proto")]
use super::{onnx, tensorflow};
use crate::storage::Storage;
use std::path::Path;
use std::str::FromStr;

/// The name of a tensor that has none.
const UNNAMED: &str = "tensor";

/// Reads the descriptions of the tensors of a file or message: of a format, or of the one that the
/// name or the first bytes tell. `source`: how other files that it names are opened.
#[cfg_attr(
    not(feature = "proto"),
    expect(unused_variables, reason = "no other format names files")
)]
pub(super) fn read(
    format: Option<Format>,
    storage: &Storage,
    path: Option<&Path>,
    source: Source,
) -> Result<(Format, Found), FileError> {
    let format = format
        .or_else(|| path.and_then(Format::of_path))
        .or_else(|| Format::of_bytes(bulk::bytes(storage)));
    let Some(format) = format else {
        let what = path.map_or("the bytes".to_owned(), |path| path.display().to_string());
        return Err(FileError::UnknownFormat { what });
    };
    let name = path.and_then(|path| path.file_stem()?.to_str());
    let name = name.unwrap_or(UNNAMED);
    let found = match format {
        Format::Safetensors => safetensors::read(storage)?,
        Format::Npy => npy::read(storage, name)?,
        Format::Npz => npz::read(storage)?,
        #[cfg(feature = "proto")]
        Format::TfProto => tensorflow::read(storage, name)?,
        #[cfg(feature = "proto")]
        Format::OnnxProto => {
            let folder = path.and_then(Path::parent);
            onnx::read(storage, name, folder.map(|folder| (folder, source)))?
        }
    };
    Ok((format, found))
}

impl FromStr for Format {
    type Err = FileError;

    fn from_str(name: &str) -> Result<Self, FileError> {
        let found = Self::ALL.iter().find(|format| format.name() == name);
        found.copied().ok_or_else(|| FileError::UnknownFormat {
            what: format!("the name {name:?}"),
        })
    }
}
