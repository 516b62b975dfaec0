//! Errors of the value and memory floors: what was found, what was wanted, and the way out.
//!
//! One enum a concern, with fields rather than sentences; [`Error`] is the sum of them, for
//! callers who just pass them on.

mod access;
mod layout;

pub use access::{AccessError, SharedWith};
pub use layout::LayoutError;

use crate::device::DeviceKind;
use crate::dtype::{DType, TypeCode};

/// Any error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What should be an element type is none.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// What should be a device is none.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Sizes and strides that describe no tensor, or not the one that was asked for.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A tensor whose memory can't be used in the way that was asked for.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A tensor that can't leave by the way that was asked for.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Why something is no element type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DTypeError {
    /// A code that DLPack 1.3 doesn't define.
    #[error("DLPack 1.3 has no element type of code {code}")]
    Code {
        /// The code.
        code: u8,
    },
    /// A width that means nothing for the code.
    #[error("an element of kind {code:?} can't be {bits} bits wide, only one of {:?}", .code.widths())]
    Width {
        /// The kind of number.
        code: TypeCode,
        /// The width, in bits.
        bits: u8,
    },
    /// An element that consists of no numbers.
    #[error("an element type needs at least one lane")]
    NoLanes,
    /// A name that no element type has.
    #[error(
        "no element type is called {name:?}; names are like \"float32\", \"int4\", \"float8_e4m3fn\""
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The value 1, say, can't be written in this element type.
    #[error("{value} can't be stored as {dtype}")]
    NotRepresentable {
        /// What should have been stored.
        value: String,
        /// The element type.
        dtype: DType,
    },
}

/// Why something is no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A number that DLPack 1.3 gives to no kind of device.
    #[error("DLPack 1.3 has no device type {value}")]
    Kind {
        /// The number.
        value: u32,
    },
    /// A device number below 0.
    #[error("{} device {id}: device numbers are not negative", .kind.name())]
    NegativeId {
        /// The kind of device.
        kind: DeviceKind,
        /// The number.
        id: i32,
    },
    /// A name that no device has.
    #[error("no device is called {name:?}; names are like \"cpu\" and \"cuda:1\"")]
    Name {
        /// The name.
        name: String,
    },
}

/// Why a tensor can't be exported in the way that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The legacy ABI can't say that memory must not be written.
    #[error(
        "a read-only tensor can't be exported through the legacy DLManagedTensor, which can't mark it; export the versioned one, or copy it first"
    )]
    LegacyReadOnly,
    /// The legacy ABI can't say that elements are padded.
    #[error(
        "padded {dtype} elements can't be exported through the legacy DLManagedTensor, which can't mark them; export the versioned one"
    )]
    LegacyPadded {
        /// The element type.
        dtype: DType,
    },
}
