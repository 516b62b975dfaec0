//! `layer_norm`: normalisation along one axis to a mean of 0 and a variance of 1.

use super::axis::dimension;
use super::number::{Float, Number, Wide};
use super::reduce::{Sum, SumOfSquaresFrom};
use super::rms_norm::widened;
use crate::compute::lines::{Scratch, for_each_line};
use crate::compute::math::Math;
use crate::compute::reduce::fold_slice;
use crate::compute::{Routine, Simd, dispatch};
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
use std::slice;

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
        .shapes(|question| Ok(vec![shape(question)?]))
        .in_place("out", "x")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("layer_norm").releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let (axis, eps) = (context.attribute("axis")?, context.attribute("eps")?);
        Ok(move |
            x: Source<'_, T>,
            weight: Option<View<'_, T>>,
            bias: Option<View<'_, T>>,
            out: Target<'_, T>,
        | kernel(axis, eps, x, [weight, bias], out))
    })
);

fn shape(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
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
    Ok(shape.to_vec())
}

fn kernel<T: Float>(
    axis: i64,
    eps: f64,
    x: Source<'_, T>,
    scale: [Option<View<'_, T>>; 2],
    out: Target<'_, T>,
) -> Result<(), Failure> {
    let axis = dimension(x.shape().len(), axis)?;
    let [weight, bias] = scale.map(|view| view.map(|view| widened(&view)));
    let body = |x: *const u8, out: *mut u8, len, scratch: &mut Scratch| {
        let (x, out) = (x.cast(), out.cast());
        let (weight, bias) = (weight.as_deref(), bias.as_deref());
        let values = scratch.floats(len);
        dispatch(Line::<T> {
            x,
            out,
            weight,
            bias,
            values,
            eps,
        });
    };
    // SAFETY: sources and targets lead to valid elements of the same shape, and the frame checked
    // that they are exactly in the same place or don't overlap.
    unsafe { for_each_line(x.operand(), out.operand(), axis, &body) };
    Ok(())
}

/// One line, its weights and biases, and memory for its elements.
struct Line<'a, T: Float> {
    x: *const T,
    out: *mut T,
    weight: Option<&'a [T::Wide]>,
    bias: Option<&'a [T::Wide]>,
    values: &'a mut [T::Wide],
    eps: f64,
}

impl<T: Float> Routine for Line<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self {
            x,
            out,
            weight,
            bias,
            values,
            eps,
        } = self;
        let len = values.len();
        // SAFETY: `for_each_line` gives as many contiguous elements as there are values, which no
        // code writes until they are copied.
        let x = unsafe { slice::from_raw_parts(x, len) };
        for (value, x) in values.iter_mut().zip(x) {
            *value = x.widen();
        }
        let empty = <T::Wide as Number>::EMPTY_TOTAL;
        // The two-pass algorithm, for a mean in two parts:
        // https://en.wikipedia.org/wiki/Algorithms_for_calculating_variance#Two-pass_algorithm
        let total = fold_slice(Sum, values, empty, simd);
        let mean = T::Wide::mean_of(total, len);
        let rest = T::Wide::lost_of_mean(mean, total, len);
        let squares = fold_slice(SumOfSquaresFrom(mean), values, empty, simd);
        let variance = T::Wide::mean_of(squares, len).sub(rest.mul(rest));
        let root = variance.add(T::Wide::from_f64(eps)).sqrt();
        let factor = T::Wide::from_f64(1.0).div(root);
        // SAFETY: `for_each_line` gives as many places, and `x` isn't used any more.
        let out = unsafe { slice::from_raw_parts_mut(out, len) };
        let normed = |value: T::Wide| value.sub(mean).sub(rest).mul(factor);
        let out = out.iter_mut().zip(values);
        match (weight, bias) {
            (Some(weight), Some(bias)) => {
                for (((out, value), weight), bias) in out.zip(weight).zip(bias) {
                    *out = T::narrow(normed(*value).mul(*weight).add(*bias));
                }
            }
            (Some(weight), None) => {
                for ((out, value), weight) in out.zip(weight) {
                    *out = T::narrow(normed(*value).mul(*weight));
                }
            }
            (None, Some(bias)) => {
                for ((out, value), bias) in out.zip(bias) {
                    *out = T::narrow(normed(*value).add(*bias));
                }
            }
            (None, None) => {
                for (out, value) in out {
                    *out = T::narrow(normed(*value));
                }
            }
        }
    }
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
