//! `rms_norm_factor`: what `rms_norm` multiplies by.

use super::lanes::sum;
use super::number::{Float, Number};
use super::rms_norm::{factor, last_size, widened};
use crate::compute::{Routine, Simd, dispatch};
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(
    Op::new("rms_norm_factor")
        .doc("What rms_norm multiplies by: out = 1 / sqrt(mean(x * x) + eps) along the last axis, which is of size 1.")
        .input("x", "T")
        .output("out", "T")
        .attribute("eps", AttributeKind::Float, Some(1e-6.into()))
        .shapes(|question| {
            last_size(question)?;
            let mut shape = question.shape("x").to_vec();
            *shape.last_mut().expect("it has a last size") = 1;
            Ok(vec![shape])
        })
        .sizes("x[s..., n] -> out[s..., 1]")
        .batches()
        .gradient(
            "x",
            "negative(multiply(multiply(multiply(mean_backward(dout, x, axis=-1, keepdims=True), out), out), \
             rms_norm(x, eps=eps)))"
        )
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("rms_norm_factor").fills_results().releases_gil_from(1 << 16).factory(
        |context: &KernelContext<'_>| {
            let eps = context.attribute("eps")?;
            Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| kernel(eps, &x, out))
        }
    )
);

fn kernel<T: Float>(eps: f64, x: &View<'_, T>, out: ViewMut<'_, T>) {
    let size = *x.shape().last().expect("the op's rule asks for an axis");
    let x = &widened(x);
    dispatch(Factors { eps, size, x, out });
}

/// The loop over lines of a size.
struct Factors<'a, T: Float> {
    eps: f64,
    size: usize,
    x: &'a [T::Wide],
    out: ViewMut<'a, T>,
}

impl<T: Float> Routine for Factors<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        for (at, out) in self.out.iter_mut().enumerate() {
            let line = &self.x[at * self.size..][..self.size];
            let squares: f64 = sum(line, simd, |x| x.mul(x));
            *out = T::rounded(factor(squares, self.size, self.eps));
        }
    }
}

/// Returns what [`rms_norm`](super::rms_norm) multiplies by: one over the root of the mean of
/// squares along the last axis, which is of size 1.
///
/// # Errors
///
/// When the elements aren't floats.
pub fn rms_norm_factor<'a>(x: impl IntoOperand<'a>, eps: f64) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("rms_norm_factor");
    OP.get()?.call().input(x).attribute("eps", eps).make()
}
