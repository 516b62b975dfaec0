//! Constraints of frameworks, and the errors of tensors that don't meet them.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;

/// What a framework can have without a copy. What is requested here is what it would otherwise
/// refuse in words of its own, copy without a word, lose, misread, or abort on.
#[derive(Clone, Copy)]
pub(in crate::python) struct Needs {
    pub(in crate::python) has: fn(DType) -> bool,
    /// Whether it knows sub-byte elements that are padded.
    pub(in crate::python) has_padded: bool,
    pub(in crate::python) arranged: Arranged,
    /// What addresses must be a multiple of.
    pub(in crate::python) alignment: usize,
    pub(in crate::python) reaches: fn(Device) -> bool,
    /// Whether it has no read-only tensors, and writes to memory that is marked as such.
    pub(in crate::python) writes_all: bool,
    pub(in crate::python) most_dimensions: usize,
}

/// How elements must lie.
#[derive(Clone, Copy)]
pub(in crate::python) enum Arranged {
    Anyhow,
    /// With no negative strides.
    Forwards,
    /// One after another, in any order of the dimensions.
    Dense,
    RowMajor,
}

/// Of a framework that can have everything, where others don't say more.
pub(in crate::python) const ANYTHING: Needs = Needs {
    has: |_| true,
    has_padded: true,
    arranged: Arranged::Anyhow,
    alignment: 1,
    reaches: |_| true,
    writes_all: false,
    most_dimensions: usize::MAX,
};

/// Says that a framework has no such elements.
#[cold]
pub(in crate::python) fn lacks_dtype(found: String, reason: String) -> Incompatibility {
    Incompatibility::new(
        IncompatibilityKind::DType,
        found,
        "a dtype of the framework",
    )
    .with_reason(reason)
}

impl Arranged {
    #[inline]
    pub(in crate::python) fn accepts(self, tensor: &Tensor) -> bool {
        match self {
            Self::Anyhow => true,
            Self::Forwards => tensor.strides().iter().all(|stride| *stride >= 0),
            Self::Dense => tensor.layout().is_dense(),
            Self::RowMajor => tensor.layout().is_contiguous(),
        }
    }
}
