//! `rms_norm_backward`: the gradient of `rms_norm` by its tensor.

use super::lanes::sum;
use super::number::{Float, Number, Wide};
use super::rms_norm::{factor, last_size, widened};
use crate::compute::{Routine, Simd, dispatch};
use crate::kernel::ArgumentError;
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
    Op::new("rms_norm_backward")
        .doc(
            "The gradient of rms_norm by its x, of that of its result: with r = 1 / sqrt(mean(x * x) + eps) and \
             g = grad * weight, out = r * g - r**3 * x * mean(g * x), along the last axis."
        )
        .input("grad", "T")
        .input("x", "T")
        .optional_input("weight", "T")
        .output("out", "T")
        .attribute("eps", AttributeKind::Float, Some(1e-6.into()))
        .keeps_shape(|question| {
            let last = last_size(question)?;
            let (x, grad) = (question.shape("x"), question.shape("grad"));
            if grad != x {
                return Err(ArgumentError::shape("grad", grad, &format!("{x:?}")).into());
            }
            if question.is_given("weight") && question.shape("weight") != [last] {
                let weight = question.shape("weight");
                return Err(ArgumentError::shape("weight", weight, &format!("[{last}]")).into());
            }
            Ok(())
        })
        .sizes("grad[s..., n], x[s..., n], weight[n] -> out[s..., n]")
        .batches()
        .gradient(
            "grad",
            "multiply(rms_norm_backward(dout, x, eps=eps), weight) if weight \
             else rms_norm_backward(dout, x, eps=eps)"
        )
        .gradient("x", GRADIENT_X)
        .gradient("weight", "sum_to_like(multiply(grad, rms_norm_backward(dout, x, eps=eps)), weight)")
);

/// With `u` for `rms_norm(x)`, and `P(v)` for `rms_norm_backward(v, x)`:
/// `-r * (mean(u * g) * P(dout) + mean(u * dout) * out + mean(dout * out) * u)`.
const GRADIENT_X: &str = "negative(multiply(rms_norm_factor(x, eps=eps), add(add(
    multiply(
        mean(multiply(rms_norm(x, weight, eps=eps), grad), axis=-1, keepdims=True),
        rms_norm_backward(dout, x, eps=eps)),
    multiply(mean(multiply(rms_norm(x, eps=eps), dout), axis=-1, keepdims=True), out)),
    multiply(mean(multiply(dout, out), axis=-1, keepdims=True), rms_norm(x, eps=eps)))))";
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("rms_norm_backward").fills_results().releases_gil_from(1 << 16).factory(
        |context: &KernelContext<'_>| {
            let eps = context.attribute("eps")?;
            Ok(move |
                grad: View<'_, T>,
                x: View<'_, T>,
                weight: Option<View<'_, T>>,
                out: ViewMut<'_, T>,
            | kernel(eps, (&grad, &x), weight, out))
        }
    )
);

fn kernel<T: Float>(
    eps: f64,
    (grad, x): (&View<'_, T>, &View<'_, T>),
    weight: Option<View<'_, T>>,
    out: ViewMut<'_, T>,
) {
    let size = *x.shape().last().expect("the op's rule asks for an axis");
    if x.is_empty() {
        return;
    }
    let weight = weight.map(|weight| widened(&weight));
    dispatch(Backward {
        eps,
        size,
        grad: &widened(grad),
        x: &widened(x),
        weight: weight.as_deref(),
        out,
    });
}

/// The loop over lines of a size.
struct Backward<'a, T: Float> {
    eps: f64,
    size: usize,
    grad: &'a [T::Wide],
    x: &'a [T::Wide],
    weight: Option<&'a [T::Wide]>,
    out: ViewMut<'a, T>,
}

impl<T: Float> Routine for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let size = self.size;
        let mut results = self.out.iter_mut();
        let mut weighted = vec![T::Wide::from_f64(0.0); size];
        let mut products = weighted.clone();
        for (grad, x) in self.grad.chunks(size).zip(self.x.chunks(size)) {
            for (at, weighted) in weighted.iter_mut().enumerate() {
                *weighted = match self.weight {
                    Some(weight) => grad[at].mul(weight[at]),
                    None => grad[at],
                };
            }
            for ((product, g), x) in products.iter_mut().zip(&weighted).zip(x) {
                *product = g.mul(*x);
            }
            let squares = sum(x, simd, |x| x.mul(x));
            let dot = sum(&products, simd, |product| product);
            let r = factor(squares, size, self.eps);
            let along_x = dot / size as f64 * r * r * r;
            for ((g, x), out) in weighted.iter().zip(x).zip(&mut results) {
                let (g, x): (f64, f64) = ((*g).into(), (*x).into());
                *out = T::rounded(g * r - x * along_x);
            }
        }
    }
}

/// Returns the gradient of [`rms_norm`](super::rms_norm) by its tensor. `weight` is a tensor or
/// `None`.
///
/// # Errors
///
/// When the shapes don't fit, or the dtypes differ or aren't floats.
pub fn rms_norm_backward<'a>(
    grad: impl IntoOperand<'a>,
    x: impl IntoOperand<'a>,
    weight: impl IntoOperand<'a>,
    eps: f64,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("rms_norm_backward");
    let call = OP.get()?.call().input(grad).input(x).input(weight);
    call.attribute("eps", eps).make()
}
