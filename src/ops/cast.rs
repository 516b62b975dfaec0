//! `cast`: conversion of elements to another dtype.

mod convert;

use crate::dtype::DType;
use crate::dtype::Element;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::kernel::UntypedMut;
use crate::tensor::Tensor;
use crate::view::View;
use convert::Number;
use half::{bf16, f16};

register_op!(
    Op::new("cast")
        .doc(
            "The numbers as elements of another type. Floats are rounded to the nearest float, and towards zero \
             to an integer, of which the least and the largest stand for those beyond; NaN becomes 0. Integers \
             wrap around. What isn't 0 is true."
        )
        .input("x", "S")
        .output("out", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, None)
);

/// Kernels from each of these types to each of them.
macro_rules! kernels_between {
    ($($ty:ty),*) => {
        register_kernel!(
            for S in [$($ty),*] =>
            Kernel::new("cast")
                .attribute("dtype", [$(<$ty>::DTYPE),*])
                .releases_gil_from(1 << 16)
                .function(kernel::<S>)
        );

        fn kernel<S: Number>(x: View<'_, S>, out: UntypedMut<'_>) -> Result<(), Failure> {
            match out.dtype() {
                $(<$ty>::DTYPE => write::<S, $ty>(x, out),)*
                dtype => Err(format!("the kernel doesn't support {dtype}").into()),
            }
        }
    };
}

kernels_between!(
    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64
);

fn write<S: Number, D: Number>(x: View<'_, S>, mut out: UntypedMut<'_>) -> Result<(), Failure> {
    let Some(mut out) = out.view_mut::<D>() else {
        return Err(format!(
            "out isn't aligned, or has bytes that aren't valid {}",
            D::DTYPE
        )
        .into());
    };
    for (out, x) in out.iter_mut().zip(&x) {
        *out = x.to();
    }
    Ok(())
}

/// Returns the numbers as elements of another type: floats are rounded, integers wrap around, and
/// what isn't 0 is true.
///
/// # Errors
///
/// When either dtype isn't a `bool` or a number of 8 bits or more.
pub fn cast<'a>(x: impl IntoOperand<'a>, dtype: DType) -> Result<Tensor, CallError> {
    static CAST: GlobalOp = GlobalOp::new("cast");
    let call = CAST.get()?.call().input(x);
    call.attribute("dtype", dtype).make()
}
