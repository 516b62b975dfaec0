//! Errors of files and messages.

use super::format::Format;
use crate::dtype::DType;
use crate::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Why tensors can't be read from a file or message, or written to one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system can't read or write the file.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Neither the name nor the first bytes tell the format.
    #[error(
        "can't tell the format of {what}; pass one of safetensors, npy, npz, tf_proto, onnx_proto"
    )]
    UnknownFormat {
        /// The file, or where the bytes are from.
        what: String,
    },
    /// There are fewer bytes than the format needs.
    #[error("truncated {format}: {what} needs {needed} bytes, and there are {found}")]
    Truncated {
        /// The format.
        format: Format,
        /// The part that doesn't fit.
        what: String,
        /// How many bytes it needs.
        needed: u64,
        /// How many there are.
        found: u64,
    },
    /// The bytes aren't what the format requires.
    #[error("invalid {format}: expected {expected}, found {found}")]
    Malformed {
        /// The format.
        format: Format,
        /// What the format requires there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A tensor has more or fewer bytes than its shape and dtype need.
    #[error(
        "tensor {name:?}: {dtype} elements of shape {shape:?} need {expected} bytes, found {found}"
    )]
    WrongSize {
        /// The tensor.
        name: String,
        /// Its element type.
        dtype: DType,
        /// Its sizes.
        shape: Vec<usize>,
        /// How many bytes that needs.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A tensor has more values than its shape has elements.
    #[error("tensor {name:?} of shape {shape:?} has {expected} elements, found {found} values")]
    WrongCount {
        /// The tensor.
        name: String,
        /// Its sizes.
        shape: Vec<usize>,
        /// Their product.
        expected: usize,
        /// How many values there are.
        found: usize,
    },
    /// A shape that no tensor has.
    #[error("tensor {name:?}: {error}")]
    Shape {
        /// The tensor.
        name: String,
        /// The problem.
        error: Error,
    },
    /// The bytes of two tensors, or of two members of an archive, overlap.
    #[error("invalid {format}: the bytes of {first:?} and {second:?} overlap")]
    Overlap {
        /// The format.
        format: Format,
        /// The one that begins first.
        first: String,
        /// The other one.
        second: String,
    },
    /// Two tensors of one name.
    #[error("invalid {format}: two tensors are called {name:?}; names must differ")]
    Duplicate {
        /// The format.
        format: Format,
        /// The name.
        name: String,
    },
    /// A name that no tensor has.
    #[error("no tensor is called {name:?}; there are {known:?}")]
    NoSuchTensor {
        /// The name.
        name: String,
        /// The names that there are, the first ones.
        known: Vec<String>,
    },
    /// An element type of the file that has no equivalent here.
    #[error("tensor {name:?}: elements of type {found} of {format} have no DLPack equivalent")]
    UnsupportedType {
        /// The format.
        format: Format,
        /// The tensor.
        name: String,
        /// The element type, as the format calls it.
        found: String,
    },
    /// An element type that the format doesn't have.
    #[error("tensor {name:?}: {format} has no {dtype} elements; {remedy}")]
    Unwritable {
        /// The format.
        format: Format,
        /// The tensor.
        name: String,
        /// The element type.
        dtype: DType,
        /// What to do.
        remedy: &'static str,
    },
    /// Something that the format allows and this crate doesn't read or write.
    #[error("{format}: {what}; {remedy}")]
    Unsupported {
        /// The format.
        format: Format,
        /// What it is.
        what: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file of external data that is outside of the message's folder.
    #[error(
        "tensor {name:?}: external data at {location:?} is outside of the folder of the message; \
         only relative paths below it are read"
    )]
    OutsideFolder {
        /// The tensor.
        name: String,
        /// The path.
        location: String,
    },
    /// The bytes aren't those that were written.
    #[error("tensor {name:?}: expected the checksum {expected:08x}, found {found:08x}")]
    Checksum {
        /// The tensor.
        name: String,
        /// The checksum in the file.
        expected: u32,
        /// That of the bytes.
        found: u32,
    },
    /// The memory can't be read or allocated.
    #[error(transparent)]
    Tensor(#[from] Error),
}

impl FileError {
    /// Creates the error of the system about a file.
    #[cold]
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, error }
    }

    /// Creates the error of an element type that the format lacks, and safetensors has.
    #[cold]
    pub(super) fn unwritable(format: Format, name: &str, dtype: DType) -> Self {
        Self::Unwritable {
            format,
            name: name.to_owned(),
            dtype,
            remedy: "write it to safetensors, or cast it",
        }
    }

    /// Creates the error of a name that the format can't hold.
    #[cold]
    pub(super) fn bad_name(format: Format, name: &str) -> Self {
        Self::Unsupported {
            format,
            what: format!("a tensor can't be called {name:?}"),
            remedy: "rename it",
        }
    }

    /// Creates the error of bytes that the format doesn't allow.
    #[cold]
    pub(super) fn malformed(
        format: Format,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            format,
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// Creates the error of too few bytes.
    #[cold]
    pub(super) fn truncated(format: Format, what: &str, needed: u64, found: usize) -> Self {
        Self::Truncated {
            format,
            what: what.to_owned(),
            needed,
            found: found as u64,
        }
    }

    /// Creates the error of a shape.
    #[cold]
    pub(super) fn shape(name: &str, error: impl Into<Error>) -> Self {
        Self::Shape {
            name: name.to_owned(),
            error: error.into(),
        }
    }
}
