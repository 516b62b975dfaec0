//! `concat`: tensors one after another, along an axis.

use super::axis::dimension;
use super::copy::not_whole_bytes;
use crate::compute::concat::{Part, concat_contiguous};
use crate::compute::copy_items;
use crate::error::Error;
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
use crate::kernel::UntypedMut;
use crate::layout::Layout;
use crate::tensor::Tensor;

/// Shorter pieces of rows are copied as elements.
const SHORT: usize = 64;

register_op!(
    Op::new("concat")
        .doc(
            "Tensors one after another, along an axis that all of them have; all other axes are of the same size. \
             They are positional arguments, or the items of one list or tuple."
        )
        .variadic_input("xs", "T")
        .output("out", "T")
        .attribute("axis", AttributeKind::Int, Some(0_i64.into()))
        .shapes(|question| match question.dtype("xs") {
            dtype if dtype.is_sub_byte() => Err(not_whole_bytes("xs[0]", dtype).into()),
            _ => Ok(vec![joined(question)?]),
        })
        .sizes("xs[p..., n@axis, q...] -> out[p..., sum(n), q...]")
        .batches()
);
register_kernel!(
    Kernel::new("concat")
        .fills_results()
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
            let axis = context.attribute("axis")?;
            Ok(move |xs: Vec<Untyped<'_>>, out: UntypedMut<'_>| kernel(axis, &xs, &out))
        })
);

/// Returns the shape of the result.
fn joined(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let mut shape = question.shape("xs").to_vec();
    let axis = dimension(shape.len(), question.attribute("axis")?)?;
    for (at, other) in question.shapes("xs").enumerate().skip(1) {
        let fits = other.len() == shape.len()
            && other[..axis] == shape[..axis]
            && other[axis + 1..] == shape[axis + 1..];
        if !fits {
            let first = question.shape("xs");
            let sizes = first.iter().enumerate();
            let sizes: Vec<_> = sizes
                .map(|(at, size)| {
                    if at == axis {
                        "_".to_owned()
                    } else {
                        size.to_string()
                    }
                })
                .collect();
            let wanted = format!("[{}]", sizes.join(", "));
            let reason = format!(
                "xs[{at}] has shape {other:?}, and xs[0] {first:?}; sizes may differ along axis {axis} only"
            );
            let error = ArgumentError::shape(&format!("xs[{at}]"), other, &wanted);
            return Err(error.with_reason(reason).into());
        }
        shape[axis] = shape[axis].saturating_add(other[axis]);
    }
    Ok(shape)
}

fn kernel(axis: i64, xs: &[Untyped<'_>], out: &UntypedMut<'_>) -> Result<(), Failure> {
    let (shape, layout) = (out.shape(), out.layout());
    let axis = dimension(shape.len(), axis)?;
    let Some(item) = out.dtype().item_bytes() else {
        return Err(not_whole_bytes("xs[0]", out.dtype()).into());
    };
    if layout.is_empty() {
        return Ok(());
    }
    let rows: usize = shape[..axis].iter().product();
    let step: usize = shape[axis + 1..].iter().product::<usize>() * item;
    let first = out.data_ptr().cast_mut();
    let is_contiguous = layout.is_contiguous() && xs.iter().all(|x| x.layout().is_contiguous());
    if is_contiguous && (rows == 1 || shape[axis] * step / xs.len() >= SHORT) {
        let parts = xs.iter().map(|x| Part {
            first: x.data_ptr(),
            bytes: x.shape()[axis] * step,
        });
        let parts: Vec<_> = parts.filter(|part| part.bytes > 0).collect();
        // SAFETY: all tensors are contiguous, with as many rows of these bytes, and the op's rule
        // gives `out` the rows of all; the frame gave it to this kernel alone, to be written.
        unsafe { concat_contiguous(&parts, rows, first) };
        return Ok(());
    }
    let mut begin = 0;
    for x in xs {
        let place = Layout::strided(x.shape(), layout.strides()).map_err(Error::from)?;
        let offset = layout.strides()[axis] * (begin * item) as isize;
        let to = (first.wrapping_offset(offset), place.as_ref());
        // SAFETY: the op's rule gives each tensor places of its own in `out`, along the axis; the
        // frame checked that `out` may be written and doesn't overlap other arguments.
        unsafe { copy_items((x.data_ptr(), x.layout()), to, item) };
        begin += x.shape()[axis];
    }
    Ok(())
}

/// Returns tensors one after another, along an axis.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let (a, b) = (Tensor::from([[1, 2], [3, 4]]), Tensor::from([[5], [6]]));
/// assert_eq!(ops::concat([&a, &b], 1)?.to_string(), "[[1 2 5]\n [3 4 6]]");
/// assert_eq!(ops::concat([&a; 300], 0)?.shape(), [600, 2]);
/// # Ok::<(), dlbridge::kernel::CallError>(())
/// ```
///
/// # Errors
///
/// When there is none, dtypes differ, sizes differ along another axis, there is no such axis, or
/// elements aren't whole bytes.
pub fn concat<'a, T: IntoOperand<'a>>(
    xs: impl IntoIterator<Item = T>,
    axis: i64,
) -> Result<Tensor, CallError> {
    static CONCAT: GlobalOp = GlobalOp::new("concat");
    let call = CONCAT.get()?.call().inputs(xs);
    call.attribute("axis", axis).make()
}
