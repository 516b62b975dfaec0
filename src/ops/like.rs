//! Ops that give a tensor the shape of another one, of which gradients are made: `sum_to_like`,
//! `broadcast_like`, `sum_backward` and `mean_backward`.

use super::axis::dimensions;
use super::number::Float;
use super::reduce::{Summed, left};
use crate::compute::copy_items;
use crate::dtype::Element;
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
use crate::kernel::Untyped;
use crate::layout::Layout;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};
use std::ptr::NonNull;

register_op!(
    Op::new("sum_to_like")
        .doc(
            "Sums of floats along the axes along which a tensor like the other one is broadcast to the shape of x: \
             the gradient of broadcasting. Numbers are added up as by sum."
        )
        .input("x", "T")
        .input("other", "T")
        .output("out", "T")
        .shapes(|question| {
            let (x, like) = (question.shape("x"), question.shape("other"));
            check_broadcast(("other", like), ("x", x))?;
            Ok(vec![like.to_vec()])
        })
        .sizes("x[s...], other[t...] -> out[t...]")
        .gradient("x", "broadcast_like(dout, x)")
        .gradient("other", "0")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("sum_to_like").fills_results().releases_gil_from(1 << 16).function(write_sums::<T>)
);

register_op!(
    Op::new("broadcast_like")
        .doc("The elements of a tensor, broadcast to the shape of another one.")
        .input("x", "T")
        .input("other", "T")
        .output("out", "T")
        .shapes(|question| {
            let (x, like) = (question.shape("x"), question.shape("other"));
            check_broadcast(("x", x), ("other", like))?;
            Ok(vec![like.to_vec()])
        })
        .sizes("x[s...], other[t...] -> out[t...]")
        .gradient("x", "sum_to_like(dout, x)")
        .gradient("other", "0")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("broadcast_like").fills_results().releases_gil_from(1 << 16).function(
        |x: View<'_, T>, _: Untyped<'_>, out: ViewMut<'_, T>| write_broadcast(x, out)
    )
);

/// Checks that a tensor can be broadcast to the shape of another one.
fn check_broadcast(
    (name, shape): (&str, &[usize]),
    (larger, to): (&str, &[usize]),
) -> Result<(), Failure> {
    let sizes = shape.iter().rev().zip(to.iter().rev());
    let fits = |(size, to): (&usize, &usize)| size == to || *size == 1;
    if shape.len() <= to.len() && sizes.into_iter().all(fits) {
        return Ok(());
    }
    let reason = format!(
        "expected {name} of a shape that broadcasts to that of {larger}, {to:?}, got {shape:?}"
    );
    let error = ArgumentError::shape(name, shape, &format!("a shape that broadcasts to {to:?}"));
    Err(error.with_reason(reason).into())
}

fn write_sums<T: Float + Summed>(
    x: View<'_, T>,
    _: Untyped<'_>,
    out: ViewMut<'_, T>,
) -> Result<(), Failure> {
    if x.shape() == out.shape() {
        return write_broadcast(x, out);
    }
    let added = x.rank() - out.rank();
    let shape = [&vec![1; added], out.shape()].concat();
    let strides = [&vec![0; added], out.strides()].concat();
    let sizes = x.shape().iter().zip(&shape);
    let is_summed: Vec<_> = sizes.map(|(size, to)| size != to).collect();
    let layout = Layout::strided(&shape, &strides)?;
    // SAFETY: the view's own elements, with dimensions of size 1 before them; it is given up here.
    let out = unsafe { ViewMut::from_raw(first(&out), layout.as_ref()) };
    T::write_sums(x, out, &is_summed, |total| T::mean_of(total, 1));
    Ok(())
}

/// Writes elements, broadcast to the shape of `out`.
fn write_broadcast<T: Element>(x: View<'_, T>, out: ViewMut<'_, T>) -> Result<(), Failure> {
    let layout = x.layout().to_owned().broadcast_to(out.shape())?;
    let from = (x.as_ptr().cast(), layout.as_ref());
    let to = (out.as_ptr().cast_mut().cast(), out.layout());
    // SAFETY: views lead to valid elements of this size, the layout only to those of `x`, and no
    // other code uses those of `out` while it is borrowed.
    unsafe { copy_items(from, to, size_of::<T>()) };
    Ok(())
}

fn first<T: Element>(view: &ViewMut<'_, T>) -> NonNull<T> {
    let first = NonNull::new(view.as_ptr().cast_mut());
    first.expect("views begin at an address")
}

/// An op that gives a reduction's gradient the shape of what was reduced.
fn backward(name: &str, doc: &str) -> Op {
    Op::new(name)
        .doc(doc)
        .input("grad", "T")
        .input("other", "T")
        .output("out", "T")
        .attribute(
            "axis",
            AttributeKind::OptionalInts,
            Some(None::<Vec<i64>>.into()),
        )
        .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
        .shapes(|question| {
            let like = question.shape("other");
            let wanted = reduced(question)?;
            if question.shape("grad") != wanted {
                let error =
                    ArgumentError::shape("grad", question.shape("grad"), &format!("{wanted:?}"));
                return Err(error.into());
            }
            Ok(vec![like.to_vec()])
        })
        .sizes("grad[reduce(s, axis, keepdims)], other[s...] -> out[s...]")
        .batches()
        .gradient("other", "0")
}

fn reduced(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let shape = question.shape("other");
    let is_reduced = dimensions(shape.len(), question.optional_ints("axis"))?;
    Ok(left(shape, &is_reduced, question.attribute("keepdims")?))
}

register_op!(backward(
    "sum_backward",
    "The gradient of sum: that of its result, broadcast along the axes that were summed, in the shape of other."
).gradient("grad", "sum(dout, axis=axis, keepdims=keepdims)"));
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("sum_backward").fills_results().releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
        Ok(move |grad: View<'_, T>, _: Untyped<'_>, out: ViewMut<'_, T>| {
            write_expanded(axes.as_deref(), grad, out)
        })
    })
);

register_op!(backward(
    "mean_backward",
    "The gradient of mean: that of its result, over the number of elements of each mean, broadcast along the axes of \
     the means, in the shape of other."
).gradient("grad", "mean(dout, axis=axis, keepdims=keepdims)"));
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("mean_backward").fills_results().releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
        Ok(move |grad: View<'_, T>, _: Untyped<'_>, out: ViewMut<'_, T>| {
            if out.is_empty() {
                return Ok(());
            }
            let count = out.len().checked_div(grad.len()).unwrap_or(0) as f64;
            let parts = divided(grad, count);
            let layout = Layout::contiguous(grad.shape())?;
            let first = NonNull::new(parts.as_ptr().cast_mut());
            // SAFETY: the list has an element for each of the shape's, in row-major order, and
            // outlives the view.
            let parts = unsafe {
                View::from_raw(first.expect("lists begin at an address"), layout.as_ref())
            };
            write_expanded(axes.as_deref(), parts, out)
        })
    })
);

/// Returns elements over a count, in row-major order.
fn divided<T: Float>(grad: View<'_, T>, count: f64) -> Vec<T> {
    let part = |grad: &T| T::rounded(grad.widen().into() / count);
    grad.iter().map(part).collect()
}

/// Writes elements of a reduced shape, broadcast along the axes that were reduced.
fn write_expanded<T: Element>(
    axes: Option<&[i64]>,
    grad: View<'_, T>,
    out: ViewMut<'_, T>,
) -> Result<(), Failure> {
    let mut layout = grad.layout().to_owned();
    if grad.rank() != out.rank() {
        for (axis, is_reduced) in dimensions(out.rank(), axes)?.iter().enumerate() {
            if *is_reduced {
                layout = layout.unsqueeze(axis)?;
            }
        }
    }
    let first = NonNull::new(grad.as_ptr().cast_mut());
    // SAFETY: the layout has the view's own elements, and dimensions of size 1 between its own.
    let grad =
        unsafe { View::from_raw(first.expect("views begin at an address"), layout.as_ref()) };
    write_broadcast(grad, out)
}

/// Returns the sums of floats along the axes along which `like` is broadcast to the shape of `x`:
/// the gradient of broadcasting.
///
/// # Errors
///
/// When `like` can't be broadcast to the shape of `x`, or the dtypes differ or aren't floats.
pub fn sum_to_like<'a>(
    x: impl IntoOperand<'a>,
    like: impl IntoOperand<'a>,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("sum_to_like");
    OP.get()?.call().input(x).input(like).make()
}

/// Returns the elements of `x`, broadcast to the shape of `like`.
///
/// # Errors
///
/// When `x` can't be broadcast to the shape of `like`, or the dtypes differ or aren't floats.
pub fn broadcast_like<'a>(
    x: impl IntoOperand<'a>,
    like: impl IntoOperand<'a>,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("broadcast_like");
    OP.get()?.call().input(x).input(like).make()
}

/// Returns the gradient of [`sum`](super::sum) by its tensor, which has the shape of `like`.
///
/// # Errors
///
/// When `grad` doesn't have the shape of such a sum, or the dtypes differ or aren't floats.
pub fn sum_backward<'a>(
    grad: impl IntoOperand<'a>,
    like: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("sum_backward");
    let call = OP.get()?.call().input(grad).input(like);
    call.attribute("axis", axes)
        .attribute("keepdims", keepdims)
        .make()
}

/// Returns the gradient of [`mean`](super::mean) by its tensor, which has the shape of `like`.
///
/// # Errors
///
/// When `grad` doesn't have the shape of such a mean, or the dtypes differ or aren't floats.
pub fn mean_backward<'a>(
    grad: impl IntoOperand<'a>,
    like: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("mean_backward");
    let call = OP.get()?.call().input(grad).input(like);
    call.attribute("axis", axes)
        .attribute("keepdims", keepdims)
        .make()
}
