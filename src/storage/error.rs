//! Errors of access to memory.

use crate::device::Device;
use crate::dtype::DType;
use std::fmt;

/// Why memory can't be accessed as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The elements are of another type.
    #[error("the tensor's elements are {found}, not {wanted}")]
    DType {
        /// What they are.
        found: DType,
        /// What was asked for.
        wanted: DType,
    },
    /// The CPU can't reach the memory.
    #[error("the CPU can't reach memory on {device}; copy the tensor to the host first")]
    NotOnHost {
        /// Where the memory is.
        device: Device,
    },
    /// Others than the CPU use the memory, and it can't wait for them.
    #[error("the memory on {device} is in use: {reason}")]
    InUse {
        /// Where the memory is.
        device: Device,
        /// What keeps the CPU from waiting, or what failed.
        reason: String,
    },
    /// The address is no multiple of the element's alignment.
    #[error(
        "the elements begin at {address:#x}, which is not aligned to {alignment} bytes; copy the tensor first"
    )]
    Misaligned {
        /// Where they begin.
        address: usize,
        /// What their type asks for.
        alignment: usize,
    },
    /// Writing was asked for, and the owner forbids it.
    #[error("the tensor is read-only; copy it to get one that can be written")]
    ReadOnly,
    /// Writing was asked for, and others may be reading or writing.
    #[error(
        "the tensor's memory is shared {with}, so writing needs a copy, or an unsafe promise that no other code uses it"
    )]
    Shared {
        /// Whom it is shared with.
        with: SharedWith,
    },
    /// Writing was asked for, and several elements are at one place.
    #[error(
        "elements of shape {shape:?}, strides {strides:?} overlap, so they can't be written through; copy the tensor first"
    )]
    SelfOverlap {
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// Dimensions that lie in between each other, where that can't be handled.
    #[error(
        "dimensions of shape {shape:?}, strides {strides:?} are interleaved, which `ndarray` doesn't take to be written; copy the tensor first"
    )]
    Interleaved {
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// Elements that should lie one after another don't.
    #[error(
        "shape {shape:?} with strides {strides:?} is not row-major without gaps; copy the tensor first"
    )]
    NotContiguous {
        /// The sizes.
        shape: Vec<usize>,
        /// The strides.
        strides: Vec<isize>,
    },
    /// A byte that is no value of the element type.
    #[error("byte {value:#04x} is no {dtype}")]
    InvalidValue {
        /// The byte.
        value: u8,
        /// The element type.
        dtype: DType,
    },
    /// There is not enough memory.
    #[error("{bytes} bytes of memory can't be allocated")]
    OutOfMemory {
        /// How many were asked for.
        bytes: usize,
    },
    /// Several elements where one was wanted.
    #[error("the tensor has {elements} elements, not one")]
    NotScalar {
        /// How many there are.
        elements: usize,
    },
    /// Two tensors of different shapes where equal ones were wanted.
    #[error("shape {left:?} is not {right:?}")]
    ShapeMismatch {
        /// The one.
        left: Vec<usize>,
        /// The other.
        right: Vec<usize>,
    },
}

/// Who else may be using a tensor's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedWith {
    /// Other tensors, exports or weak references made from it in this program.
    Handles,
    /// The foreign library that it came from.
    Producer,
}

impl fmt::Display for SharedWith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handles => "with other handles to it",
            Self::Producer => "with the library that it came from",
        })
    }
}
