//! `rms_norm`: root mean square normalisation along the last axis.

use super::lanes::{LANES, map, mapped, sum, sums};
use super::lines::{OfLines, compute_lines};
use super::number::{Float, Number, Wide};
use crate::compute::Simd;
use crate::compute::lines::Scratch;
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use crate::view::View;
use half::{bf16, f16};
use std::borrow::Cow;
use std::slice;

register_op!(
    Op::new("rms_norm")
        .doc("Floats over the root of the mean of their squares along the last axis, times a weight for each \
              place along it, if there are weights: out = x / sqrt(mean(x * x) + eps) * weight.")
        .input("x", "T")
        .optional_input("weight", "T")
        .output("out", "T")
        .attribute("eps", AttributeKind::Float, Some(1e-6.into()))
        .keeps_shape(|question| {
            let last = last_size(question)?;
            if question.is_given("weight") && question.shape("weight") != [last] {
                let weight = question.shape("weight");
                let error = ArgumentError::shape("weight", weight, &format!("[{last}]"));
                let reason = format!("weight has shape {weight:?}, and the last axis of x {last} elements");
                return Err(error.with_reason(reason).into());
            }
            Ok(())
        })
        .in_place("out", "x")
        .sizes("x[..., n], weight[n] -> out[..., n]")
        .batches()
        .gradient("x", "rms_norm_backward(dout, x, weight, eps=eps)")
        .gradient("weight", "sum_to_like(multiply(dout, rms_norm(x, eps=eps)), weight)")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("rms_norm")
        .fills_results()
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
        let eps = context.attribute("eps")?;
        Ok(move |x: Source<'_, T>, weight: Option<View<'_, T>>, out: Target<'_, T>| {
            kernel(eps, x, weight, out);
        })
    })
);

fn kernel<T: Float>(eps: f64, x: Source<'_, T>, weight: Option<View<'_, T>>, out: Target<'_, T>) {
    if x.operand().layout.is_empty() {
        return; // Without a copy of the weight, which may be of any size.
    }
    let last = x.shape().len() - 1;
    let weight = weight.map(|weight| widened(&weight));
    let norm = RmsNorm {
        weight: weight.as_deref(),
        eps,
    };
    compute_lines(x, out, last, &norm);
}

/// Returns the size of the last axis of `x`.
pub(super) fn last_size(question: &ShapeContext<'_>) -> Result<usize, Failure> {
    let x = question.shape("x");
    x.last().copied().ok_or_else(|| {
        let reason = "expected x of rank 1 or more, got rank 0";
        let error = ArgumentError::shape("x", x, "rank 1 or more");
        error.with_reason(reason).into()
    })
}

/// Returns what a line's numbers are multiplied by, of the sum of their squares.
#[inline(always)]
pub(super) fn factor(squares: f64, len: usize, eps: f64) -> f64 {
    1.0 / (squares / len as f64 + eps).sqrt()
}

/// Returns the elements as the type that is calculated with.
pub(super) fn widened<'a, T: Float>(view: &View<'a, T>) -> Cow<'a, [T::Wide]> {
    let Some(elements) = view.as_slice() else {
        return view.iter().map(|element| element.widen()).collect();
    };
    if !T::CONVERTS {
        // SAFETY: the elements are calculated with as they are, which is what their type says.
        return Cow::Borrowed(unsafe {
            slice::from_raw_parts(elements.as_ptr().cast(), elements.len())
        });
    }
    let mut wide = vec![T::Wide::from_f64(0.0); elements.len()];
    // SAFETY: both have as many elements.
    unsafe { T::widen_all(elements.as_ptr(), wide.as_mut_ptr(), elements.len()) };
    Cow::Owned(wide)
}

/// What a line is normalised with.
struct RmsNorm<'a, T: Float> {
    weight: Option<&'a [T::Wide]>,
    eps: f64,
}

impl<T: Float> RmsNorm<'_, T> {
    /// Returns what a line's numbers are multiplied by.
    #[inline(always)]
    fn factor(&self, squares: f64, len: usize) -> T::Wide {
        T::Wide::from_f64(factor(squares, len, self.eps))
    }
}

impl<T: Float> OfLines<T> for RmsNorm<'_, T> {
    #[inline(always)]
    fn compute<S: Simd>(&self, x: &[T], out: &mut [T], _: &mut Scratch, simd: S) {
        let factor = self.factor(sum(x, simd, |x| x.mul(x)), x.len());
        match self.weight {
            Some(weight) => map(x, [weight], out, simd, |x, [weight]| {
                x.mul(factor).mul(weight)
            }),
            None => map(x, [], out, simd, |x, []| x.mul(factor)),
        }
    }

    #[inline(always)]
    fn compute_across(&self, rows: &mut [[T::Wide; LANES]]) {
        let squares = sums(rows.iter().map(|row| mapped(*row, |x| x.mul(x))));
        let len = rows.len();
        let factors = mapped(squares, |squares| self.factor(squares.into(), len));
        for (place, row) in rows.iter_mut().enumerate() {
            for at in 0..LANES {
                row[at] = row[at].mul(factors[at]);
            }
            if let Some(weight) = self.weight {
                *row = mapped(*row, |x| x.mul(weight[place]));
            }
        }
    }
}

/// Returns floats over the root of the mean of their squares along the last axis, times a weight
/// for each place along it. `None::<&Tensor>` stands for weights of 1.
///
/// # Errors
///
/// When the elements aren't floats of one dtype, or there are not as many weights.
pub fn rms_norm<'a>(
    x: impl IntoOperand<'a>,
    weight: impl IntoOperand<'a>,
    eps: f64,
) -> Result<Tensor, CallError> {
    static RMS_NORM: GlobalOp = GlobalOp::new("rms_norm");
    let call = RMS_NORM.get()?.call().input(x).input(weight);
    call.attribute("eps", eps).make()
}
