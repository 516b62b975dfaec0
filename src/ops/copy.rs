//! `copy`: elements copied to new memory or to `out`.

use crate::dtype::DType;
use crate::kernel::ArgumentError;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::Untyped;
use crate::kernel::UntypedMut;
use crate::tensor::Tensor;

register_op!(
    Op::new("copy")
        .doc("The same elements somewhere else: row-major without gaps, where nothing is given to hold them.")
        .input("x", "T")
        .output("out", "T")
        .keeps_shape(|question| match question.dtype("x") {
            dtype if dtype.is_sub_byte() => Err(not_whole_bytes("x", dtype).into()),
            _ => Ok(()),
        })
        .elementwise()
        .gradient("x", "dout")
);
/// Makes the error of an argument whose elements share bytes.
#[cold]
pub(super) fn not_whole_bytes(argument: &str, dtype: DType) -> ArgumentError {
    let error = ArgumentError::dtype(argument, dtype, "elements of whole bytes");
    error.with_reason(format!("elements of {dtype} aren't whole bytes"))
}

register_kernel!(
    Kernel::new("copy")
        .fills_results()
        .releases_gil_from(1 << 16)
        .function(kernel)
);

fn kernel(x: Untyped<'_>, mut out: UntypedMut<'_>) -> Result<(), Failure> {
    out.copy_from(&x)
}

/// Copies the elements to new memory, for every dtype of whole bytes.
///
/// # Errors
///
/// When they aren't, or there is no memory for them.
pub fn copy<'a>(x: impl IntoOperand<'a>) -> Result<Tensor, CallError> {
    static COPY: GlobalOp = GlobalOp::new("copy");
    COPY.get()?.call().input(x).make()
}
