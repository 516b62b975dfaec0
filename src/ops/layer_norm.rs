//! `layer_norm`: normalisation along one axis to a mean of 0 and a variance of 1.

use super::axis::dimension;
use super::lanes::{LANES, map, mapped, sum, sums};
use super::lines::{OfLines, compute_lines};
use super::number::{Float, Number, Wide};
use super::rms_norm::widened;
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

register_op!(
    Op::new("layer_norm")
        .doc(
            "Floats less their mean along an axis, over their standard deviation along it, times a weight for each \
             place along the axis and plus a bias for each, if there are such: out = (x - mean(x)) / sqrt(var(x) + \
             eps) * weight + bias. The variance is that of the whole population."
        )
        .input("x", "T")
        .optional_input("weight", "T")
        .optional_input("bias", "T")
        .output("out", "T")
        .attribute("axis", AttributeKind::Int, Some((-1_i64).into()))
        .attribute("eps", AttributeKind::Float, Some(1e-5.into()))
        .keeps_shape(check)
        .in_place("out", "x")
        .sizes("x[p..., n@axis, q...], weight[n], bias[n] -> out[p..., n, q...]")
        .batches()
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("layer_norm")
        .fills_results()
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
        let (axis, eps) = (context.attribute("axis")?, context.attribute("eps")?);
        Ok(move |
            x: Source<'_, T>,
            weight: Option<View<'_, T>>,
            bias: Option<View<'_, T>>,
            out: Target<'_, T>,
        | kernel(axis, eps, x, [weight, bias], out))
    })
);

fn check(question: &ShapeContext<'_>) -> Result<(), Failure> {
    let shape = question.shape("x");
    let axis = dimension(shape.len(), question.attribute("axis")?)?;
    for name in ["weight", "bias"] {
        let size = shape[axis];
        if question.is_given(name) && question.shape(name) != [size] {
            let found = question.shape(name);
            let error = ArgumentError::shape(name, found, &format!("[{size}]"));
            let reason =
                format!("{name} has shape {found:?}, and axis {axis} of x {size} elements");
            return Err(error.with_reason(reason).into());
        }
    }
    Ok(())
}

fn kernel<T: Float>(
    axis: i64,
    eps: f64,
    x: Source<'_, T>,
    scale: [Option<View<'_, T>>; 2],
    out: Target<'_, T>,
) -> Result<(), Failure> {
    let axis = dimension(x.shape().len(), axis)?;
    if x.operand().layout.is_empty() {
        return Ok(()); // Without copies of weight and bias, which may be of any size.
    }
    let [weight, bias] = scale.map(|view| view.map(|view| widened(&view)));
    let norm = LayerNorm {
        weight: weight.as_deref(),
        bias: bias.as_deref(),
        eps,
    };
    compute_lines(x, out, axis, &norm);
    Ok(())
}

/// What a line is normalised with.
struct LayerNorm<'a, T: Float> {
    weight: Option<&'a [T::Wide]>,
    bias: Option<&'a [T::Wide]>,
    eps: f64,
}

// The two-pass algorithm, for a mean in two parts, of which the second is what the first lacks:
// https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Two-pass_algorithm
impl<T: Float> LayerNorm<'_, T> {
    /// Returns what the distances to a line's mean are multiplied by, of the sum of their squares.
    #[inline(always)]
    fn factor(&self, squares: f64, rest: f64, share: f64) -> T::Wide {
        let variance = squares * share - rest * rest;
        T::Wide::from_f64(1.0 / (variance + self.eps).sqrt())
    }
}

impl<T: Float> OfLines<T> for LayerNorm<'_, T> {
    #[inline(always)]
    fn compute<S: Simd>(&self, x: &[T], out: &mut [T], _: &mut Scratch, simd: S) {
        let share = 1.0 / x.len() as f64;
        let mean = T::Wide::from_f64(sum(x, simd, |x| x) * share);
        let rest = sum(x, simd, |x| x.sub(mean)) * share;
        // A loop of its own: the compiler has the lanes of one sum in registers, and not of two.
        let squares = sum(x, simd, |x| square(x.sub(mean)));
        let factor = self.factor(squares, rest, share);
        let rest = T::Wide::from_f64(rest);
        let normed = |x: T::Wide| x.sub(mean).sub(rest).mul(factor);
        match (self.weight, self.bias) {
            (Some(weight), Some(bias)) => map(x, [weight, bias], out, simd, |x, [weight, bias]| {
                normed(x).mul(weight).add(bias)
            }),
            (Some(weight), None) => map(x, [weight], out, simd, |x, [by]| normed(x).mul(by)),
            (None, Some(bias)) => map(x, [bias], out, simd, |x, [bias]| normed(x).add(bias)),
            (None, None) => map(x, [], out, simd, |x, []| normed(x)),
        }
    }

    #[inline(always)]
    fn compute_across(&self, rows: &mut [[T::Wide; LANES]]) {
        let share = 1.0 / rows.len() as f64;
        let means = mapped(sums(rows.iter().copied()), |sum| {
            T::Wide::from_f64(sum.into() * share)
        });
        for row in &mut *rows {
            for at in 0..LANES {
                row[at] = row[at].sub(means[at]);
            }
        }
        let rests = sums(rows.iter().copied());
        let squares = sums(rows.iter().map(|row| mapped(*row, square)));
        let (mut rest, mut factor) = (rests, rests);
        for at in 0..LANES {
            let exact = rests[at].into() * share;
            rest[at] = T::Wide::from_f64(exact);
            factor[at] = self.factor(squares[at].into(), exact, share);
        }
        for (place, row) in rows.iter_mut().enumerate() {
            for at in 0..LANES {
                row[at] = row[at].sub(rest[at]).mul(factor[at]);
            }
            if let Some(weight) = self.weight {
                *row = mapped(*row, |x| x.mul(weight[place]));
            }
            if let Some(bias) = self.bias {
                *row = mapped(*row, |x| x.add(bias[place]));
            }
        }
    }
}

#[inline(always)]
fn square<W: Wide>(x: W) -> W {
    x.mul(x)
}

/// Returns floats less their mean along an axis, over their standard deviation along it, times a
/// weight and plus a bias for each place along the axis. `None::<&Tensor>` stands for weights of 1,
/// and for biases of 0.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let x = Tensor::from([[1.0_f64, 3.0], [10.0, 0.0]]);
/// let bias = Tensor::from([0.0, 100.0]);
/// let normed = ops::layer_norm(&x, None::<&Tensor>, &bias, -1, 0.0)?;
/// assert_eq!(normed.to_vec::<f64>()?, [-1.0, 101.0, 1.0, 99.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the elements aren't floats of one dtype, there is no such axis, or there are not as many
/// weights or biases.
pub fn layer_norm<'a>(
    x: impl IntoOperand<'a>,
    weight: impl IntoOperand<'a>,
    bias: impl IntoOperand<'a>,
    axis: i64,
    eps: f64,
) -> Result<Tensor, CallError> {
    static LAYER_NORM: GlobalOp = GlobalOp::new("layer_norm");
    let call = LAYER_NORM.get()?.call().input(x).input(weight).input(bias);
    call.attribute("axis", axis).attribute("eps", eps).make()
}
