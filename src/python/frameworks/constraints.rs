//! What a framework can have, and why a tensor isn't that.

use crate::device::Device;
use crate::dtype::DType;
use crate::tensor::Tensor;

/// What a framework can have without a copy. What is asked for here is what it would otherwise
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

/// Why a framework can't have a tensor.
#[derive(Debug)]
pub(in crate::python) struct Misfit {
    /// What is wrong, in a sentence without its end.
    pub(in crate::python) reason: String,
    /// On which device it can have a copy, if it can.
    pub(in crate::python) cure: Option<Device>,
    /// Whether nothing is wrong but that the tensor is read-only, and the framework has no read-only
    /// tensors. Then it can share the memory all the same, where the policy permits that.
    pub(in crate::python) is_only_read_only: bool,
}

impl Misfit {
    pub(in crate::python) fn cured_by_copy(reason: String, tensor: &Tensor) -> Self {
        Self {
            reason,
            cure: Some(tensor.device()),
            is_only_read_only: false,
        }
    }

    pub(in crate::python) fn for_good(reason: String) -> Self {
        Self {
            reason,
            cure: None,
            is_only_read_only: false,
        }
    }
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
