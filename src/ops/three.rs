//! Elementwise functions of three tensors: `where` and `fma`.

use super::number::Float;
use crate::dtype::DType;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use half::{bf16, f16};

register_op!(
    Op::new("where")
        .doc("The elements of a where the condition is true, and those of b elsewhere.")
        .input("condition", DType::BOOL)
        .input("a", "T")
        .input("b", "T")
        .output("out", "T")
        .broadcasts()
        .in_place("out", "a")
        .in_place("out", "b")
);
register_kernel!(
    for T in [bool, f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("where").releases_gil_from(1 << 16).function(
        |condition: Source<'_, bool>, a: Source<'_, T>, b: Source<'_, T>, out: Target<'_, T>| {
            out.zip3(&condition, &a, &b, |condition, a, b| if condition { a } else { b });
        }
    )
);

/// Returns the elements of `a` where the condition is true, and those of `b` elsewhere.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let (a, b) = (Tensor::from([1, 5]), Tensor::from([2, 2]));
/// let larger = ops::where_(&ops::greater(&a, &b)?, &a, &b)?;
/// assert_eq!(larger.to_string(), "[2 5]");
/// # Ok::<(), dlbridge::kernel::CallError>(())
/// ```
///
/// # Errors
///
/// When the dtypes of `a` and `b` differ or aren't supported, or the tensors can't be broadcast
/// against each other.
pub fn where_<'a>(
    condition: impl IntoOperand<'a>,
    a: impl IntoOperand<'a>,
    b: impl IntoOperand<'a>,
) -> Result<Tensor, CallError> {
    static WHERE: GlobalOp = GlobalOp::new("where");
    WHERE
        .get()?
        .call()
        .input(condition)
        .input(a)
        .input(b)
        .make()
}

register_op!(
    Op::new("fma")
        .doc("The product of two tensors of floats and a third one, rounded once: out = a * b + c.")
        .input("a", "T")
        .input("b", "T")
        .input("c", "T")
        .output("out", "T")
        .broadcasts()
        .in_place("out", "a")
        .in_place("out", "b")
        .in_place("out", "c")
);
register_kernel!(
    for T in [f32, f64, f16, bf16] =>
    Kernel::new("fma").releases_gil_from(1 << 16).function(
        |a: Source<'_, T>, b: Source<'_, T>, c: Source<'_, T>, out: Target<'_, T>| {
            out.zip3(&a, &b, &c, <T as Float>::fma);
        }
    )
);

/// Returns the product of two tensors of floats and a third one, rounded once.
///
/// # Errors
///
/// When the tensors' dtypes differ or aren't floats, or they can't be broadcast against each other.
pub fn fma<'a>(
    a: impl IntoOperand<'a>,
    b: impl IntoOperand<'a>,
    c: impl IntoOperand<'a>,
) -> Result<Tensor, CallError> {
    static FMA: GlobalOp = GlobalOp::new("fma");
    FMA.get()?.call().input(a).input(b).input(c).make()
}
