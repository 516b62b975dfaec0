//! `axpy`: adds a multiple of a tensor to another one, in place.

use super::number::Number;
use crate::compute::elementwise::{self, Elements, Function, GRAIN, Widen};
use crate::dtype::Element;
use crate::kernel::ArgumentError;
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::IntoOperandMut;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(
    Op::new("axpy")
        .doc("Adds a multiple of one tensor to another one, in place: y += alpha * x.")
        .input("alpha", "T")
        .input("x", "T")
        .in_out("y", "T")
        .shapes(|question| {
            let (x, y) = (question.shape("x"), question.shape("y"));
            let alpha = question.shape("alpha");
            if !alpha.is_empty() {
                let reason = format!("alpha is one number, and has shape {alpha:?}");
                return Err(ArgumentError::shape("alpha", alpha, "[]")
                    .with_reason(reason)
                    .into());
            }
            if x != y {
                let error = ArgumentError::shape("x", x, &format!("{y:?}"));
                let reason = format!("x has shape {x:?}, and y {y:?}");
                return Err(error.with_reason(reason).into());
            }
            Ok(Vec::new())
        })
        .sizes("alpha[], x[s...], y[s...]")
        .batches()
        .gradient("alpha", "sum(multiply(dy, x))")
        .gradient("x", "multiply(dy, alpha)")
        .gradient("y", "dy")
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("axpy")
        .fills_results()
        .host_memory("alpha")
        .releases_gil_from(1 << 16)
        .function(kernel::<T>)
);

/// Adds a multiple to an element.
#[derive(Clone, Copy)]
struct AddMultiple<T>(T);

impl<T: Number> Function<(T, T)> for AddMultiple<T> {
    type Output = T;
    const IN_PLACE: bool = true;

    #[inline(always)]
    fn call(self, (y, x): (T, T)) -> T {
        y.add(self.0.mul(x))
    }
}

fn kernel<T: Widen<Wide: Number>>(alpha: T, x: View<'_, T>, y: ViewMut<'_, T>) {
    let elements = |first, layout| Elements { first, layout };
    let x = elements(x.as_ptr().cast_mut(), x.layout());
    let y = elements(y.as_ptr().cast_mut(), y.layout());
    // SAFETY: views lead to valid elements, and no other code uses those of `y` while it is
    // borrowed, so that `x` doesn't overlap it; the shapes were compared by the op.
    unsafe { elementwise::zip_wide(y, y, x, GRAIN, AddMultiple(alpha.widen())) };
}

/// Adds a multiple of one tensor to another one, in place.
///
/// # Errors
///
/// When their dtypes or shapes differ, or `y` can't be written.
pub fn axpy<'a, T: Element>(
    alpha: T,
    x: impl IntoOperand<'a>,
    y: impl IntoOperandMut<'a>,
) -> Result<(), CallError> {
    static AXPY: GlobalOp = GlobalOp::new("axpy");
    let call = AXPY.get()?.call().number(alpha).input(x).in_out(y);
    call.run().map(drop)
}
