//! [`Error`], the sum of the errors of values and memory, each of which lives beside the type that
//! it is about; and [`Incompatibility`], the data that all of them come down to.

mod fields;
mod incompatibility;
mod shared_with;

use crate::device::Device;
pub use crate::device::DeviceError;
use crate::dtype::DType;
pub use crate::dtype::DTypeError;
pub use crate::layout::LayoutError;
pub use incompatibility::{Incompatibility, IncompatibilityKind};
pub use shared_with::SharedWith;

/// Any error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An element type that DLPack doesn't define, or a value that it can't represent.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// A device that DLPack doesn't define.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An invalid shape or invalid strides.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The elements are of another type.
    #[error("expected elements of {wanted}, got {found}; cast them first")]
    DTypeMismatch {
        /// What they are.
        found: DType,
        /// The requested one.
        wanted: DType,
    },
    /// The CPU can't reach the memory.
    #[error("the CPU can't reach memory on {device}; copy the tensor to the host first")]
    NotOnHost {
        /// Device of the memory.
        device: Device,
    },
    /// Others than the CPU use the memory, and it can't wait for them.
    #[error("the memory on {device} is in use: {reason}")]
    InUse {
        /// Device of the memory.
        device: Device,
        /// What keeps the CPU from waiting, or what failed.
        reason: String,
    },
    /// The data pointer isn't aligned for the element type.
    #[error(
        "the elements begin at {address:#x}, which is not aligned to {alignment} bytes; copy the tensor first"
    )]
    Misaligned {
        /// Where they begin.
        address: usize,
        /// What their type asks for.
        alignment: usize,
    },
    /// Writing was requested, and the owner forbids it.
    #[error("the tensor is read-only; copy it to get one that can be written")]
    ReadOnly,
    /// Writing was requested, and others may be reading or writing.
    #[error(
        "the tensor's memory is shared {with}, so writing needs a copy (`make_mut` makes one), or an unsafe promise that no other code uses it"
    )]
    Shared {
        /// Whom it is shared with.
        with: SharedWith,
    },
    /// Writing was requested, and several elements are at one place.
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
    /// A storage with bytes that are in none of the elements that it came with, where all are to
    /// become elements.
    #[error(
        "the memory has bytes that are in none of the elements that it came with, which others may use; make a copy of those elements, and a tensor of its storage"
    )]
    HasGaps,
    /// A byte isn't a valid value of the element type.
    #[error("byte {value:#04x} is not a valid {dtype}")]
    InvalidValue {
        /// The byte.
        value: u8,
        /// The element type.
        dtype: DType,
    },
    /// There is not enough memory.
    #[error("can't allocate {bytes} bytes of memory")]
    OutOfMemory {
        /// The requested number.
        bytes: usize,
    },
    /// Several elements where one was wanted.
    #[error("expected a tensor of one element, got {elements} elements")]
    NotScalar {
        /// How many there are.
        elements: usize,
    },
    /// Two tensors of different shapes where equal ones were wanted.
    #[error("expected equal shapes, got {left:?} and {right:?}")]
    ShapeMismatch {
        /// The one.
        left: Vec<usize>,
        /// The other.
        right: Vec<usize>,
    },
    /// A tensor that can't be used as requested, such as one that can't be exported.
    #[error(transparent)]
    Incompatible(#[from] Box<Incompatibility>),
}

impl From<Incompatibility> for Error {
    #[cold]
    fn from(error: Incompatibility) -> Self {
        Self::Incompatible(Box::new(error))
    }
}

/// Says how many arguments are expected, and how many were given, in the words of Python.
#[cfg(feature = "kernels")]
pub(crate) fn miscounted(wanted: usize, what: &str, given: usize) -> String {
    let many = if wanted == 1 { "" } else { "s" };
    let were = if given == 1 { "was" } else { "were" };
    format!("takes {wanted} {what}{many} but {given} {were} given")
}
