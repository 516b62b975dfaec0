//! `matmul`: matrix multiplication.

use super::number::Number;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::Ranked;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(
    Op::new("matmul")
        .doc("The product of two matrices: out[i, j] = the sum over k of a[i, k] * b[k, j].")
        .input("a", "T")
        .input("b", "T")
        .output("out", "T")
        .shapes(|question| {
            let (a, b) = (question.shape("a"), question.shape("b"));
            match (a, b) {
                ([m, k], [l, n]) if k == l => Ok(vec![vec![*m, *n]]),
                _ => Err(format!("matrices of shapes {a:?} and {b:?} can't be multiplied").into()),
            }
        })
        .work(|question| {
            let sizes = question.shape("a").iter().chain(&question.shape("b")[1..]);
            sizes.fold(1, |work, size| work.saturating_mul(*size as u64))
        })
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("matmul").releases_gil_from(1 << 15).function(kernel::<T>)
);

/// Multiplies row by row, and sums over the rows of `b`, so that memory is read in order.
fn kernel<T: Number>(
    a: Ranked<View<'_, T>, 2>,
    b: Ranked<View<'_, T>, 2>,
    out: Ranked<ViewMut<'_, T>, 2>,
) {
    let (a, b, mut out) = (a.0, b.0, out.0);
    let (rows, columns) = (out.shape()[0], out.shape()[1]);
    let inner = a.shape()[1];
    let mut sums = vec![T::EMPTY_SUM; columns];
    for row in 0..rows {
        sums.fill(T::EMPTY_SUM);
        for k in 0..inner {
            let factor = a[[row, k]];
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum = T::add_product(*sum, factor, b[[k, column]]);
            }
        }
        for (column, sum) in sums.iter().enumerate() {
            out[[row, column]] = T::from_sum(*sum);
        }
    }
}

/// Returns the product of two matrices.
///
/// # Errors
///
/// When their dtypes or shapes don't match.
pub fn matmul<'a>(a: impl IntoOperand<'a>, b: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
    static MATMUL: GlobalOp = GlobalOp::new("matmul");
    MATMUL.get()?.call().input(a).input(b).make()
}
