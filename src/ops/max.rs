//! `max`: reduction to the largest element along some axes, or all.

use super::number::Number;
use super::reduce::{call, reduce, reduced, reduction};
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(
    reduction(
        "max",
        "The largest element along some axes: all of them without `axis`, none of them for `axis=()`. NaN counts as the largest."
    )
    .shapes(|question| {
        let (shape, left) = (question.shape("x"), reduced(question)?);
        if shape.contains(&0) && !left.contains(&0) {
            return Err(format!("x, of shape {shape:?}, has no largest element").into());
        }
        Ok(vec![left])
    })
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("max").releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
        Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| {
            reduce(axes.as_deref(), x, out, T::LOWEST, T::max_or_nan, |largest| largest)
        })
    })
);

/// Returns the largest element along some axes: all for `None`, none for `Some(&[])`.
///
/// # Errors
///
/// When there is no such axis, or there are no elements of which one could be the largest.
pub fn max<'a>(
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    static MAX: GlobalOp = GlobalOp::new("max");
    call(&MAX, x, axes, keepdims)
}
