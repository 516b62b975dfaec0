//! `add`: the sum of two tensors, by element.

use super::number::Number;
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
    Op::new("add")
        .doc("The sum of two tensors, by element: out = a + b. Sums of integers wrap around.")
        .input("a", "T")
        .input("b", "T")
        .output("out", "T")
        .broadcasts()
        .in_place("out", "a")
        .in_place("out", "b")
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::of("add").releases_gil_from(1 << 16).function(kernel::<T>)
);

fn kernel<T: Number>(a: Source<'_, T>, b: Source<'_, T>, out: Target<'_, T>) {
    out.zip(&a, &b, T::plus);
}

/// The sum of two tensors, by element, broadcast against each other.
///
/// # Errors
///
/// When they are none that can be added.
pub fn add<'a>(a: impl IntoOperand<'a>, b: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
    static ADD: GlobalOp = GlobalOp::new("add");
    ADD.get()?.call().input(a).input(b).make()
}
