//! `take`: rows of a tensor, chosen by their indices.

use super::axis::dimension;
use super::copy::not_whole_bytes;
use crate::compute::Operand;
use crate::compute::rows::{Index, Rows, out_of_bounds};
use crate::dtype::Element;
use crate::error::Error;
use crate::kernel::ArgumentError;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::kernel::Untyped;
use crate::kernel::UntypedMut;
use crate::kernel::{self, AttributeKind};
use crate::tensor::Tensor;
use crate::view::View;
use std::borrow::Cow;

register_op!(
    Op::new("take")
        .doc(
            "The rows of a tensor that indices name, along an axis: the shape of the indices takes the place of the \
             axis. Negative indices count from the end. An index that is out of bounds is an error."
        )
        .input("x", "T")
        .input("indices", "I")
        .output("out", "T")
        .attribute("axis", AttributeKind::Int, Some(0_i64.into()))
        .shapes(|question| match question.dtype("x") {
            dtype if dtype.is_sub_byte() => Err(not_whole_bytes("x", dtype).into()),
            _ => Ok(vec![taken(question)?]),
        })
        .sizes("x[p..., n@axis, q...], indices[i...] -> out[p..., i..., q...]")
        .work(|question| {
            let sizes = taken(question).unwrap_or_default();
            sizes.iter().map(|size| *size as u64).product()
        })
);
register_kernel!(
    for I in [i32, i64] =>
    Kernel::new("take")
        .fills_results()
        .releases_gil_from(1 << 14)
        .factory(|context: &KernelContext<'_>| {
        let axis = context.attribute("axis")?;
        Ok(move |x: Untyped<'_>, indices: View<'_, I>, out: UntypedMut<'_>| {
            take_rows(axis, &x, indices, &out)
        })
    })
);

/// Returns the shape of the tensor `x` with that of the indices in place of the axis.
pub(super) fn taken(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let (shape, indices) = (question.shape("x"), question.shape("indices"));
    let axis = dimension(shape.len(), question.attribute("axis")?)?;
    Ok([&shape[..axis], indices, &shape[axis + 1..]].concat())
}

fn take_rows<I: Index + Element>(
    axis: i64,
    x: &Untyped<'_>,
    indices: View<'_, I>,
    out: &UntypedMut<'_>,
) -> Result<(), Failure> {
    let axis = dimension(x.shape().len(), axis)?;
    let Some(item) = x.dtype().item_bytes() else {
        return Err(not_whole_bytes("x", x.dtype()).into());
    };
    let rows = Rows {
        indexed: operand(x, item),
        axis,
        listed: operand(out, item),
        indices: &checked(axis, x.shape()[axis], indices)?,
        rank: indices.rank(),
    };
    // SAFETY: the indices were just checked; the op's rule gives `out` their shape in place of the
    // axis, and the frame checked that `out` may be written and doesn't overlap other arguments.
    unsafe { rows.take() };
    Ok(())
}

fn operand<'a>(of: &kernel::Operand<'a>, item: usize) -> Operand<'a> {
    Operand {
        first: of.data_ptr().cast_mut(),
        layout: of.layout(),
        item,
    }
}

/// Returns the indices, side by side, if all are within an axis of this size.
pub(super) fn checked<'a, I: Index + Element>(
    axis: usize,
    size: usize,
    indices: View<'a, I>,
) -> Result<Cow<'a, [I]>, Failure> {
    let list = match indices.as_slice() {
        Some(list) => Cow::Borrowed(list),
        None => Cow::Owned(copied(&indices)?),
    };
    let Some(mut at) = out_of_bounds(&list, size) else {
        return Ok(list);
    };
    let index = list[at].number();
    let mut place = vec![0; indices.rank()];
    for (place, size) in place.iter_mut().zip(indices.shape()).rev() {
        (*place, at) = (at % size, at / size);
    }
    let error = ArgumentError::index("indices", index, axis, size);
    let reason = format!(
        "index {index}, which is indices{place:?}, is out of bounds for axis {axis} with size {size}"
    );
    Err(error.with_reason(reason).into())
}

/// Returns the indices in a list of their own. Broadcast ones may need more memory than there is.
fn copied<I: Index + Element>(indices: &View<'_, I>) -> Result<Vec<I>, Error> {
    let mut list = Vec::new();
    let bytes = indices.len().saturating_mul(size_of::<I>());
    let reserved = list.try_reserve_exact(indices.len());
    reserved.map_err(|_| Error::OutOfMemory { bytes })?;
    list.extend(indices.iter());
    Ok(list)
}

/// Returns the rows that indices name, along an axis. Negative indices count from the end.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let table = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// let rows = ops::take(&table, &Tensor::from([2_i64, 0, -1]), 0)?;
/// assert_eq!(rows.to_vec::<f32>()?, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When an index is out of bounds, the indices aren't `int32` or `int64`, there is no such axis, or
/// elements aren't whole bytes.
pub fn take<'a>(
    x: impl IntoOperand<'a>,
    indices: impl IntoOperand<'a>,
    axis: i64,
) -> Result<Tensor, CallError> {
    static TAKE: GlobalOp = GlobalOp::new("take");
    let call = TAKE.get()?.call().input(x).input(indices);
    call.attribute("axis", axis).make()
}
