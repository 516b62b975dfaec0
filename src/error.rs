//! [`Error`], the sum of the errors of values and memory, each of which lives beside the type that
//! it is about; and [`Incompatibility`], the data that all of them come down to.

mod fields;
mod incompatibility;

pub use crate::device::DeviceError;
pub use crate::dtype::DTypeError;
pub use crate::layout::LayoutError;
pub use crate::storage::{AccessError, SharedWith};
pub use incompatibility::{Incompatibility, IncompatibilityKind};

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
    /// Memory that can't be accessed as requested.
    #[error(transparent)]
    Access(#[from] AccessError),
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
