//! Ops that copy elements in another arrangement, of which gradients are made: `matrix_transpose`
//! and `expand_dims`.

use super::axis::dimension;
use super::copy::not_whole_bytes;
use crate::compute::copy_items;
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::Untyped;
use crate::kernel::UntypedMut;
use crate::layout::Layout;
use crate::tensor::Tensor;

register_op!(
    Op::new("matrix_transpose")
        .doc("Matrices with rows and columns exchanged, along the last two axes, as a copy.")
        .input("x", "T")
        .output("out", "T")
        .shapes(|question| {
            let x = question.shape("x");
            let [batch @ .., rows, columns] = x else {
                let reason = format!("expected x of rank 2 or more, got rank {}", x.len());
                return Err(ArgumentError::shape("x", x, "rank 2 or more")
                    .with_reason(reason)
                    .into());
            };
            match question.dtype("x") {
                dtype if dtype.is_sub_byte() => Err(not_whole_bytes("x", dtype).into()),
                _ => Ok(vec![[batch, &[*columns, *rows]].concat()]),
            }
        })
        .sizes("x[..., n, m] -> out[..., m, n]")
        .batches()
        .gradient("x", "matrix_transpose(dout)")
);
register_kernel!(
    Kernel::new("matrix_transpose")
        .fills_results()
        .releases_gil_from(1 << 16)
        .function(
            |x: Untyped<'_>, out: UntypedMut<'_>| -> Result<(), Failure> {
                let rank = x.shape().len();
                let mut axes: Vec<_> = (0..rank).collect();
                axes.swap(rank - 2, rank - 1);
                let layout = x.layout().to_owned().permute(&axes)?;
                write(&x, &layout, &out)
            }
        )
);

register_op!(
    Op::new("expand_dims")
        .doc("The same elements with one more axis, of size 1, as a copy. Negative axes count from the end of the result's.")
        .input("x", "T")
        .output("out", "T")
        .attribute("axis", AttributeKind::Int, Some(0_i64.into()))
        .shapes(|question| {
            let mut shape = question.shape("x").to_vec();
            shape.insert(dimension(shape.len() + 1, question.attribute("axis")?)?, 1);
            match question.dtype("x") {
                dtype if dtype.is_sub_byte() => Err(not_whole_bytes("x", dtype).into()),
                _ => Ok(vec![shape]),
            }
        })
        .gradient("x", "sum(dout, axis=axis, dtype=dtype(x))")
);
register_kernel!(
    Kernel::new("expand_dims")
        .fills_results()
        .releases_gil_from(1 << 16)
        .factory(|context: &KernelContext<'_>| {
            let axis = context.attribute::<i64>("axis")?;
            Ok(
                move |x: Untyped<'_>, out: UntypedMut<'_>| -> Result<(), Failure> {
                    let axis = dimension(x.shape().len() + 1, axis)?;
                    write(&x, &x.layout().to_owned().unsqueeze(axis)?, &out)
                },
            )
        })
);

/// Writes the elements of a tensor in another layout, which has the result's shape.
fn write(x: &Untyped<'_>, layout: &Layout, out: &UntypedMut<'_>) -> Result<(), Failure> {
    let Some(item) = x.dtype().item_bytes() else {
        return Err(not_whole_bytes("x", x.dtype()).into());
    };
    let from = (x.data_ptr(), layout.as_ref());
    let to = (out.data_ptr().cast_mut(), out.layout());
    // SAFETY: the layout has the elements of `x`; the frame checked that those of `out`, of the
    // same shape and dtype, may be written, and that they don't overlap `x`.
    unsafe { copy_items(from, to, item) };
    Ok(())
}

/// Returns matrices with rows and columns exchanged, as a copy.
///
/// # Errors
///
/// When the tensor has less than two dimensions, or its elements aren't whole bytes.
pub fn matrix_transpose<'a>(x: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("matrix_transpose");
    OP.get()?.call().input(x).make()
}

/// Returns the same elements with one more axis, of size 1, as a copy.
///
/// # Errors
///
/// When there is no such axis in the result, or its elements aren't whole bytes.
pub fn expand_dims<'a>(x: impl IntoOperand<'a>, axis: i64) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("expand_dims");
    OP.get()?.call().input(x).attribute("axis", axis).make()
}
