//! `index_add`: rows added to those of a tensor that indices name, in place.

use super::axis::dimension;
use super::number::{Float, Number};
use super::take::{checked, taken};
use crate::compute::Operand;
use crate::compute::rows::{Index, Rows};
use crate::dtype::Element;
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::IntoOperandMut;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(
    Op::new("index_add")
        .doc(
            "Adds rows to those of a tensor that indices name, along an axis, in place. Negative indices count from \
             the end. Rows of the same index are added one after another in their order, each sum rounded to the \
             tensor's type. An index that is out of bounds is an error, and nothing is added."
        )
        .in_out("x", "T")
        .input("indices", "I")
        .input("source", "T")
        .attribute("axis", AttributeKind::Int, Some(0_i64.into()))
        .shapes(|question| {
            let (wanted, found) = (taken(question)?, question.shape("source"));
            if *found != *wanted {
                let error = ArgumentError::shape("source", found, &format!("{wanted:?}"));
                let reason = format!(
                    "expected source of shape {wanted:?}, that of x with the indices' in place of the axis, got \
                     {found:?}"
                );
                return Err(error.with_reason(reason).into());
            }
            Ok(Vec::new())
        })
        .sizes("x[p..., n@axis, q...], indices[i...]")
        .work(|question| {
            let sizes = question.shape("source").iter();
            sizes.map(|size| *size as u64).product()
        })
);

/// Kernels for indices of two types.
macro_rules! kernels {
    ($I:ty) => {
        register_kernel!(
            for T in [f32, f64, i8, i16, i32, i64, u8, u16, u32, u64] =>
            Kernel::new("index_add")
                .fills_results()
                .releases_gil_from(1 << 14)
                .factory(|context: &KernelContext<'_>| {
                let axis = context.attribute("axis")?;
                Ok(move |x: ViewMut<'_, T>, indices: View<'_, $I>, source: View<'_, T>| {
                    kernel(axis, x, indices, source, T::add)
                })
            })
        );
        register_kernel!(
            for T in [f16, bf16] =>
            Kernel::new("index_add")
                .fills_results()
                .releases_gil_from(1 << 14)
                .factory(|context: &KernelContext<'_>| {
                let axis = context.attribute("axis")?;
                Ok(move |x: ViewMut<'_, T>, indices: View<'_, $I>, source: View<'_, T>| {
                    kernel(axis, x, indices, source, add_widened)
                })
            })
        );
    };
}

kernels!(i32);
kernels!(i64);

/// Returns the sum, without a call in loops.
#[inline(always)]
fn add_widened<T: Float>(a: T, b: T) -> T {
    T::narrow(a.widen().add(b.widen()))
}

fn kernel<T: Number, I: Index + Element>(
    axis: i64,
    x: ViewMut<'_, T>,
    indices: View<'_, I>,
    source: View<'_, T>,
    add: impl Fn(T, T) -> T + Sync + Copy,
) -> Result<(), Failure> {
    let axis = dimension(x.rank(), axis)?;
    let item = size_of::<T>();
    let rows = Rows {
        indexed: Operand {
            first: x.as_ptr().cast_mut().cast(),
            layout: x.layout(),
            item,
        },
        axis,
        listed: Operand {
            first: source.as_ptr().cast_mut().cast(),
            layout: source.layout(),
            item,
        },
        indices: &checked(axis, x.shape()[axis], indices)?,
        rank: indices.rank(),
    };
    // SAFETY: the indices were just checked, the op's rule checks the shapes, and views lead to
    // aligned elements; what one may write no other code uses.
    unsafe { rows.add(add) };
    Ok(())
}

/// Adds rows to those of a tensor that indices name, along an axis. Negative indices count from
/// the end, and rows of the same index add up.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let mut counts = Tensor::from([0_i32, 0, 0]);
/// let (indices, ones) = (Tensor::from([2_i64, 0, 2]), Tensor::from([1_i32, 1, 1]));
/// ops::index_add(&mut counts, &indices, &ones, 0)?;
/// assert_eq!(counts.to_vec::<i32>()?, [1, 0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When an index is out of bounds, the indices aren't `int32` or `int64`, dtypes or shapes don't
/// fit, there is no such axis, or `x` can't be written.
pub fn index_add<'a>(
    x: impl IntoOperandMut<'a>,
    indices: impl IntoOperand<'a>,
    source: impl IntoOperand<'a>,
    axis: i64,
) -> Result<(), CallError> {
    static INDEX_ADD: GlobalOp = GlobalOp::new("index_add");
    let call = INDEX_ADD
        .get()?
        .call()
        .in_out(x)
        .input(indices)
        .input(source);
    call.attribute("axis", axis).run().map(drop)
}
