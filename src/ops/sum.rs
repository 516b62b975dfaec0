//! `sum`: summation along some axes, or all.

use super::number::Number;
use super::reduce::{call, reduce, reduction};
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(reduction(
    "sum",
    "The sum of the elements along some axes: all of them without `axis`, none of them for `axis=()`."
));
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("sum").releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
        Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| {
            reduce(axes.as_deref(), x, out, T::EMPTY_SUM, T::add_one, T::from_sum)
        })
    })
);

/// Returns the sum of the elements along some axes: all for `None`, none for `Some(&[])`.
///
/// # Errors
///
/// When there is no such axis.
pub fn sum<'a>(
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    static SUM: GlobalOp = GlobalOp::new("sum");
    call(&SUM, x, axes, keepdims)
}
