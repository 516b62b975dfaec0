//! Whether a framework can have a tensor, and why not.

use super::conversion::Conversion;
use crate::device::Device;
use crate::python::error::not_exchangeable;
use crate::python::frameworks::Framework;
use crate::python::frameworks::constraints::{Arranged, Misfit, Needs};
use crate::python::{cuda, readonly};
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// Returns why a framework can't have a tensor, if that is so.
#[inline]
pub(super) fn misfit(
    framework: &Framework,
    py: Python<'_>,
    tensor: &Tensor,
) -> PyResult<Option<Misfit>> {
    let misfit = unmet_need(framework, tensor);
    let is_for_good = misfit.as_ref().is_some_and(|misfit| misfit.cure.is_none());
    match framework.more {
        // What no copy cures is said first.
        Some(ask) if !is_for_good => Ok(ask(py, tensor)?.or(misfit)),
        _ => Ok(misfit),
    }
}

/// Returns what of a framework's needs a tensor doesn't meet, without running Python code.
#[inline]
pub(super) fn unmet_need(framework: &Framework, tensor: &Tensor) -> Option<Misfit> {
    let needs = &framework.needs;
    (!needs.are_met_by(tensor)).then(|| needs.why_not(framework.title, tensor))
}

impl Misfit {
    /// Returns the reason, and the way out.
    pub(super) fn into_message(self) -> String {
        match self.cure {
            Some(_) if self.is_only_read_only => {
                format!("{}; copy it first, or {}", self.reason, readonly::SHARING)
            }
            Some(_) => format!("{}; copy it first", self.reason),
            None => self.reason,
        }
    }

    /// Permits sharing all the same, where the tensor is only read-only, and the policy allows that.
    ///
    /// # Errors
    ///
    /// The `BufferError` that says what is wrong, or what a warning raises.
    #[cold]
    pub(super) fn permit(
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
    #[inline]
    fn are_met_by(&self, tensor: &Tensor) -> bool {
        (self.has)(tensor.dtype())
            && (self.has_padded || !tensor.is_padded())
            && self.arranged.accepts(tensor)
            && self.is_aligned(tensor)
            && (self.reaches)(tensor.device())
            && !(self.writes_all && tensor.is_read_only())
            && tensor.rank() <= self.most_dimensions
    }

    #[inline]
    fn is_aligned(&self, tensor: &Tensor) -> bool {
        self.alignment == 1
            || tensor.is_empty()
            || !tensor.device().has_addresses()
            || tensor.data_ptr().addr().is_multiple_of(self.alignment)
    }

    /// Says why not. What can't be cured comes first.
    #[cold]
    fn why_not(&self, title: &str, tensor: &Tensor) -> Misfit {
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
