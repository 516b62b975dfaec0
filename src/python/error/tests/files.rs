//! Errors of files and messages, for the table.

use crate::dtype::DType;
use crate::files::{FileError, Format};

pub(super) fn files() -> Vec<FileError> {
    let (format, name) = (Format::Safetensors, || "x".to_owned());
    vec![
        FileError::Truncated {
            format,
            what: "the header".to_owned(),
            needed: 100,
            found: 64,
        },
        FileError::Malformed {
            format,
            expected: "an object at byte 0 of the header".to_owned(),
            found: "\"[]\"".to_owned(),
        },
        FileError::WrongSize {
            name: name(),
            dtype: DType::F32,
            shape: vec![2],
            expected: 8,
            found: 7,
        },
        FileError::Overlap {
            format,
            first: name(),
            second: "y".to_owned(),
        },
        FileError::Duplicate {
            format,
            name: name(),
        },
        FileError::NoSuchTensor {
            name: name(),
            known: vec!["y".to_owned()],
        },
        FileError::UnsupportedType {
            format: Format::TfProto,
            name: name(),
            found: "DT_STRING".to_owned(),
        },
        FileError::Unwritable {
            format: Format::Npy,
            name: name(),
            dtype: DType::BF16,
            remedy: "write it to safetensors, or cast it",
        },
        FileError::Unsupported {
            format: Format::Npz,
            what: "the format has no metadata".to_owned(),
            remedy: "write it to safetensors",
        },
        FileError::OutsideFolder {
            name: name(),
            location: "../x.bin".to_owned(),
        },
        FileError::Checksum {
            name: name(),
            expected: 1,
            found: 2,
        },
    ]
}
