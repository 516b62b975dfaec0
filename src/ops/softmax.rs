//! `softmax`: softmax along one axis.

use super::axis::dimension;
use super::number::{Float, Number, Wide};
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use half::{bf16, f16};

register_op!(
    Op::new("softmax")
        .doc(
            "The exponentials of floats along an axis, over their sum: exp(x) / the sum of exp(x)."
        )
        .input("x", "T")
        .output("out", "T")
        .attribute("axis", AttributeKind::Int, Some((-1_i64).into()))
        .shapes(|question| {
            let shape = question.shape("x");
            dimension(shape.len(), question.attribute("axis")?)?;
            Ok(vec![shape.to_vec()])
        })
        .in_place("out", "x")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("softmax").releases_gil_from(1 << 14).factory(|context: &KernelContext<'_>| {
        let axis = context.attribute("axis")?;
        Ok(move |x: Source<'_, T>, out: Target<'_, T>| kernel(axis, x, out))
    })
);

fn kernel<T: Float>(axis: i64, x: Source<'_, T>, out: Target<'_, T>) -> Result<(), Failure> {
    type Sums<T> = <<T as Float>::Wide as Number>::Sum;
    let axis = dimension(x.shape().len(), axis)?;
    let mut powers = Vec::new();
    for (x, out) in x.lines(axis).zip(out.lines(axis)) {
        // Powers of what is at most 0, so that none is too large.
        let largest = x
            .iter()
            .map(T::widen)
            .fold(T::Wide::LOWEST, T::Wide::max_or_nan);
        powers.clear();
        powers.extend(x.iter().map(|x| x.widen().sub(largest).exp()));
        let sum: Sums<T> = powers.iter().fold(T::Wide::EMPTY_SUM, |sum, power| {
            T::Wide::add_one(sum, *power)
        });
        let sum = T::Wide::from_sum(sum);
        for (out, power) in out.iter().zip(&powers) {
            out.set(T::narrow(power.div(sum)));
        }
    }
    Ok(())
}

/// Computes the softmax of floats along an axis.
///
/// # Errors
///
/// When the elements aren't floats, or there is no such axis.
pub fn softmax<'a>(x: impl IntoOperand<'a>, axis: i64) -> Result<Tensor, CallError> {
    static SOFTMAX: GlobalOp = GlobalOp::new("softmax");
    let call = SOFTMAX.get()?.call().input(x);
    call.attribute("axis", axis).make()
}
