//! Constraints of frameworks, checked for a tensor.

use super::conversion::Conversion;
use super::deliver::deliver;
use crate::device::Device;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::not_exchangeable;
use crate::python::frameworks::constraints::{Arranged, Needs, lacks_dtype};
use crate::python::frameworks::{Framework, Question};
use crate::python::{cuda, readonly};
use crate::tensor::Tensor;
use pyo3::prelude::*;

/// Returns why a framework can't have a tensor, if that is so.
#[inline]
pub(super) fn misfit(
    framework: &Framework,
    py: Python<'_>,
    tensor: &Tensor,
) -> PyResult<Option<Incompatibility>> {
    let is_for_good = |misfit: &Option<Incompatibility>| {
        misfit
            .as_ref()
            .is_some_and(|misfit| misfit.copy_to.is_none())
    };
    let mut misfit = None;
    if !(framework.surely_has)(tensor) {
        misfit = unmet_need(framework, tensor);
        // What no copy cures is said first.
        if let Some(ask) = framework.more
            && !is_for_good(&misfit)
        {
            misfit = ask(py, tensor)?.or(misfit);
        }
    }
    if let Some(tried) = framework.tried
        && !is_for_good(&misfit)
    {
        let attempt = |sample| deliver(framework, py, sample);
        if let Some((question, why)) = tried.refused(py, tensor, attempt)? {
            return Ok(Some(refused_by_release(
                framework.title,
                tensor,
                question,
                &why,
                misfit,
            )));
        }
    }
    Ok(misfit)
}

/// Says what the installed release refuses. A copy that is made for another reason is row-major.
#[cold]
fn refused_by_release(
    title: &str,
    tensor: &Tensor,
    question: Question,
    why: &str,
    misfit: Option<Incompatibility>,
) -> Incompatibility {
    match question {
        Question::DType(dtype) => {
            let reason = format!("the installed release of {title} has no {dtype} ({why})");
            lacks_dtype(dtype.to_string(), reason)
        }
        Question::Transposed => misfit.unwrap_or_else(|| {
            let found = format!("strides {:?}", tensor.strides());
            let wanted = "elements that are row-major without gaps";
            let reason = format!("the installed release of {title} needs {wanted} ({why})");
            Incompatibility::new(Kind::Layout, found, wanted)
                .with_reason(reason)
                .with_copy_to(tensor.device())
        }),
    }
}

/// Returns what of a framework's needs a tensor doesn't meet, without running Python code.
#[inline]
pub(super) fn unmet_need(framework: &Framework, tensor: &Tensor) -> Option<Incompatibility> {
    let needs = &framework.needs;
    let is_met = (framework.surely_has)(tensor) || needs.are_met_by(tensor);
    (!is_met).then(|| needs.why_not(framework.title, tensor))
}

/// Permits sharing all the same, where the tensor is only read-only, and the policy allows that.
///
/// # Errors
///
/// The `BufferError` that says what is wrong, or what a warning raises.
#[cold]
pub(super) fn permit(
    misfit: Incompatibility,
    py: Python<'_>,
    conversion: &Conversion<'_, '_>,
    title: &str,
) -> PyResult<()> {
    if misfit.kind != Kind::ReadOnly {
        return Err(not_exchangeable(with_copy(misfit)));
    }
    let source = || conversion.origin.title(py);
    readonly::permit(py, conversion.readonly, source, title, || with_copy(misfit))
}

/// Adds the remedy that a copy is.
fn with_copy(misfit: Incompatibility) -> Incompatibility {
    match misfit.copy_to {
        Some(_) if misfit.kind == Kind::ReadOnly => {
            misfit.with_remedy(format!("copy it first, or {}", readonly::SHARING))
        }
        Some(_) => misfit.with_remedy("copy it first"),
        None => misfit,
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

    /// Says why not. What no copy cures comes first.
    #[cold]
    fn why_not(&self, title: &str, tensor: &Tensor) -> Incompatibility {
        let (rank, dtype) = (tensor.rank(), tensor.dtype());
        if !(self.has)(dtype) {
            let padded = if tensor.is_padded() { "padded " } else { "" };
            let found = format!("{padded}{dtype}");
            let reason = format!("{title} has no {found}");
            return lacks_dtype(found, reason);
        }
        if tensor.is_padded() && !self.has_padded {
            let found = format!("padded {dtype}");
            let reason = format!("{title} has no {found}");
            return Incompatibility::new(Kind::Padding, found, format!("packed {dtype}"))
                .with_reason(reason);
        }
        if rank > self.most_dimensions {
            let most = self.most_dimensions;
            let reason =
                format!("{title} has at most {most} dimensions, and the tensor has {rank}");
            return Incompatibility::new(Kind::Rank, rank.to_string(), format!("at most {most}"))
                .with_reason(reason);
        }
        if !(self.reaches)(tensor.device()) {
            let device = tensor.device();
            let places = [Device::CPU, Device::cuda(0)];
            let reached = || places.iter().filter(|place| (self.reaches)(**place));
            let wanted: Vec<_> = reached().map(Device::to_string).collect();
            let cure = reached().find(|place| cuda::can_move(device, **place));
            return Incompatibility::new(Kind::Device, device.to_string(), wanted.join(" or "))
                .with_reason(format!("{title} can't reach memory on {device}"))
                .with_copy_to(cure.copied());
        }
        if !self.arranged.accepts(tensor) {
            let (shape, strides) = (tensor.shape(), tensor.strides());
            let found = format!("shape {shape:?}, strides {strides:?}");
            let wanted = match self.arranged {
                Arranged::Anyhow | Arranged::Forwards => {
                    let reason = format!("{title} has no negative strides, as in {strides:?}");
                    return Incompatibility::new(Kind::Layout, found, "no negative strides")
                        .with_reason(reason)
                        .with_copy_to(tensor.device());
                }
                Arranged::Dense => "elements without gaps",
                Arranged::RowMajor => "elements that are row-major without gaps",
            };
            let reason = format!("{title} needs {wanted}, and these have {found}");
            return Incompatibility::new(Kind::Layout, found, wanted)
                .with_reason(reason)
                .with_copy_to(tensor.device());
        }
        if !self.is_aligned(tensor) {
            let (alignment, address) = (self.alignment, tensor.data_ptr().addr());
            let reason = format!(
                "{title} needs memory that is aligned to {alignment} bytes, and the tensor is at {address:#x}"
            );
            let wanted = format!("a multiple of {alignment}");
            return Incompatibility::new(Kind::Alignment, format!("{address:#x}"), wanted)
                .with_reason(reason)
                .with_copy_to(tensor.device());
        }
        // What sharing can't mend is said before.
        let reason = format!("the tensor is read-only, and {title} writes to memory all the same");
        Incompatibility::new(Kind::ReadOnly, "read-only", "writable")
            .with_reason(reason)
            .with_copy_to(tensor.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn what_a_framework_surely_has_meets_its_needs() {
        for name in ["numpy", "torch", "paddle"] {
            let framework = Framework::named(name).unwrap();
            let mut sure = 0;
            let whole = DType::ALL
                .iter()
                .filter(|dtype| dtype.bits().is_multiple_of(8));
            for (dtype, rank) in whole.flat_map(|dtype| (0..12).map(move |rank| (dtype, rank))) {
                let Ok(tensor) = Tensor::zeroed(&vec![2; rank], *dtype) else {
                    continue;
                };
                let flipped = (rank > 0).then(|| tensor.step_by(0, -1).unwrap());
                let read_only = tensor.clone().into_read_only();
                for tensor in [Some(tensor), flipped, Some(read_only)].iter().flatten() {
                    if (framework.surely_has)(tensor) {
                        sure += 1;
                        assert!(framework.needs.are_met_by(tensor), "{name}: {tensor:?}");
                    }
                }
            }
            assert!(sure > 0, "{name}");
        }
    }
}
