//! `rms_norm`: root mean square normalisation along the last axis, with weights.

use super::number::{Float, Number, Wide};
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use crate::view::View;
use half::{bf16, f16};

register_op!(
    Op::new("rms_norm")
        .doc("Floats over the root of the mean of their squares along the last axis, times a weight for each \
              place along it: out = x / sqrt(mean(x * x) + eps) * weight.")
        .input("x", "T")
        .input("weight", "T")
        .output("out", "T")
        .attribute("eps", AttributeKind::Float, Some(1e-6.into()))
        .shapes(|question| {
            let (x, weight) = (question.shape("x"), question.shape("weight"));
            match x.last() {
                None => Err("expected x of rank 1 or more, got rank 0".into()),
                Some(last) if weight != [*last] => {
                    Err(format!("weight has shape {weight:?}, and the last axis of x {last} elements").into())
                }
                Some(_) => Ok(vec![x.to_vec()]),
            }
        })
        .in_place("out", "x")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("rms_norm").releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let eps = context.attribute("eps")?;
        Ok(move |x: Source<'_, T>, weight: View<'_, T>, out: Target<'_, T>| {
            kernel(eps, x, weight, out);
        })
    })
);

fn kernel<T: Float>(eps: f64, x: Source<'_, T>, weight: View<'_, T>, out: Target<'_, T>) {
    let last = x.shape().len() - 1;
    for (x, out) in x.lines(last).zip(out.lines(last)) {
        let add = |sum, x: T| T::Wide::add_product(sum, x.widen(), x.widen());
        let squares = x.iter().fold(T::Wide::EMPTY_SUM, add);
        let root = T::Wide::mean(squares, x.len())
            .add(T::Wide::from_f64(eps))
            .sqrt();
        for ((out, x), weight) in out.iter().zip(x.iter()).zip(&weight) {
            out.set(T::narrow(x.widen().div(root).mul(weight.widen())));
        }
    }
}

/// Floats over the root of the mean of their squares along the last axis, times a weight for each
/// place along it.
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
