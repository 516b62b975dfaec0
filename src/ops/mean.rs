//! `mean`: arithmetic mean along some axes, or all.

use super::axis::dimensions;
use super::number::Float;
use super::reduce::{Summed, call, reduction};
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(reduction(
    "mean",
    "The mean of floats along some axes: all of them without `axis`, none of them for `axis=()`. The mean of nothing is NaN."
).gradient("x", "mean_backward(dout, x, axis=axis, keepdims=keepdims)"));
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("mean")
        .fills_results()
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
        let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
        Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| kernel(axes.as_deref(), x, out))
    })
);

fn kernel<T: Float + Summed>(
    axes: Option<&[i64]>,
    x: View<'_, T>,
    out: ViewMut<'_, T>,
) -> Result<(), Failure> {
    // Without results there is nothing to divide.
    let count = x.len().checked_div(out.len()).unwrap_or(0);
    let is_reduced = dimensions(x.rank(), axes)?;
    T::write_sums(x, out, &is_reduced, |total| T::mean_of(total, count));
    Ok(())
}

/// Returns the mean of floats along some axes: all for `None`, none for `Some(&[])`.
///
/// # Errors
///
/// When the elements aren't floats, or there is no such axis.
pub fn mean<'a>(
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    static MEAN: GlobalOp = GlobalOp::new("mean");
    call(&MEAN, x, axes, keepdims)
}
