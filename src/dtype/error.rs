//! Errors of element types.

use super::{DType, TypeCode};

/// Why an element type is invalid, or can't represent a value.
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
    /// A value that the element type can't represent, such as 0.5 as an integer.
    #[error("{value} can't be stored as {dtype}")]
    NotRepresentable {
        /// What should have been stored.
        value: String,
        /// The element type.
        dtype: DType,
    },
}
