//! What a framework can have, and why a tensor isn't that.

use crate::device::Device;
use crate::dtype::DType;
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use crate::python::export::convert::Conversion;
use crate::python::readonly;
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// What a framework can have without a copy. What is asked for here is what it would otherwise
/// refuse in words of its own, copy without a word, lose, misread, or abort on.
#[derive(Clone, Copy)]
pub(in crate::python) struct Needs {
    /// As people call the framework.
    pub(in crate::python) title: &'static str,
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
    title: "dlbridge",
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

    /// The reason, and the way out.
    pub(in crate::python) fn into_message(self) -> String {
        match self.cure {
            Some(_) if self.is_only_read_only => {
                format!("{}; copy it first, or {}", self.reason, readonly::SHARING)
            }
            Some(_) => format!("{}; copy it first", self.reason),
            None => self.reason,
        }
    }

    /// Returns where the tensor can be shared all the same: it is only read-only, and the policy
    /// permits that.
    ///
    /// # Errors
    ///
    /// The `BufferError` that says what is wrong, or what a warning raises.
    #[cold]
    pub(in crate::python) fn permit(
        self,
        py: Python<'_>,
        conversion: &Conversion<'_, '_>,
        title: &str,
    ) -> PyResult<()> {
        if !self.is_only_read_only {
            return Err(not_exchangeable(self.into_message()));
        }
        let source = || conversion.origin.title(py);
        readonly::permit(py, conversion.readonly, source, title, || {
            self.into_message()
        })
    }
}

impl Needs {
    /// Why the framework can't have the tensor, if that is so.
    #[inline]
    pub(in crate::python) fn misfit(&self, tensor: &Tensor) -> Option<Misfit> {
        let fits = (self.has)(tensor.dtype())
            && (self.has_padded || !tensor.is_padded())
            && self.arranged.accepts(tensor)
            && self.is_aligned(tensor)
            && (self.reaches)(tensor.device())
            && !(self.writes_all && tensor.is_read_only())
            && tensor.rank() <= self.most_dimensions;
        if fits { None } else { Some(self.why(tensor)) }
    }

    #[inline]
    fn is_aligned(&self, tensor: &Tensor) -> bool {
        self.alignment == 1
            || tensor.is_empty()
            || !tensor.device().has_addresses()
            || tensor.data_ptr().addr().is_multiple_of(self.alignment)
    }

    /// What can't be cured comes first.
    #[cold]
    fn why(&self, tensor: &Tensor) -> Misfit {
        let title = self.title;
        let rank = tensor.rank();
        if !(self.has)(tensor.dtype()) || tensor.is_padded() && !self.has_padded {
            let padded = if tensor.is_padded() { "padded " } else { "" };
            return Misfit::for_good(format!("{title} has no {padded}{}", tensor.dtype()));
        }
        if rank > self.most_dimensions {
            let most = self.most_dimensions;
            return Misfit::for_good(format!(
                "{title} has at most {most} dimensions, and the tensor has {rank}"
            ));
        }
        if !(self.reaches)(tensor.device()) {
            let device = tensor.device();
            let places = [Device::CPU, Device::cuda(0)];
            let mut reached = places.into_iter().filter(|place| (self.reaches)(*place));
            return Misfit {
                reason: format!("{title} can't reach memory on {device}"),
                cure: reached.find(|place| cuda::can_move(device, *place)),
                is_only_read_only: false,
            };
        }
        if !self.arranged.accepts(tensor) {
            let (shape, strides) = (tensor.shape(), tensor.strides());
            let needs = match self.arranged {
                Arranged::Anyhow | Arranged::Forwards => {
                    let reason = format!("{title} has no negative strides, as in {strides:?}");
                    return Misfit::cured_by_copy(reason, tensor);
                }
                Arranged::Dense => "without gaps",
                Arranged::RowMajor => "that are row-major without gaps",
            };
            let reason = format!(
                "{title} needs elements {needs}, and these have shape {shape:?}, strides {strides:?}"
            );
            return Misfit::cured_by_copy(reason, tensor);
        }
        if !self.is_aligned(tensor) {
            let (alignment, address) = (self.alignment, tensor.data_ptr().addr());
            let reason = format!(
                "{title} needs memory that is aligned to {alignment} bytes, and the tensor is at {address:#x}"
            );
            return Misfit::cured_by_copy(reason, tensor);
        }
        // What sharing can't mend is said before.
        let reason = format!("the tensor is read-only, and {title} writes to memory all the same");
        Misfit {
            is_only_read_only: true,
            ..Misfit::cured_by_copy(reason, tensor)
        }
    }
}

impl Arranged {
    #[inline]
    fn accepts(self, tensor: &Tensor) -> bool {
        match self {
            Self::Anyhow => true,
            Self::Forwards => tensor.strides().iter().all(|stride| *stride >= 0),
            Self::Dense => tensor.layout().is_dense(),
            Self::RowMajor => tensor.layout().is_contiguous(),
        }
    }
}
