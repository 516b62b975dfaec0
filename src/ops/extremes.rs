//! `max` and `min`: reduction to the largest or the smallest element along some axes, or all.

use super::reduce::{Max, Min, call, check_choice, reduce, reduced, reduction};
use crate::kernel::CallError;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

macro_rules! extremes {
    ($name:ident, $Fold:ident, $doc:literal, $rust_doc:literal) => {
        register_op!(reduction(stringify!($name), $doc).shapes(|question| {
            let left = reduced(question)?;
            let which = if stringify!($name) == "max" { "largest" } else { "smallest" };
            check_choice(question.shape("x"), &left, which)?;
            Ok(vec![left])
        }));
        register_kernel!(
            for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
            Kernel::new(stringify!($name))
                .fills_results()
                .releases_gil_from(1 << 16)
                .factory(
                |context: &KernelContext<'_>| {
                    let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
                    Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| {
                        reduce(axes.as_deref(), x, out, $Fold)
                    })
                }
            )
        );

        #[doc = $rust_doc]
        ///
        /// # Errors
        ///
        /// When there is no such axis, or there are no elements to choose from.
        pub fn $name<'a>(
            x: impl IntoOperand<'a>,
            axes: Option<&[i64]>,
            keepdims: bool,
        ) -> Result<Tensor, CallError> {
            static OP: GlobalOp = GlobalOp::new(stringify!($name));
            call(&OP, x, axes, keepdims)
        }
    };
}

extremes!(
    max,
    Max,
    "The largest element along some axes: all of them without `axis`, none of them for `axis=()`. NaN counts as the largest.",
    "Returns the largest element along some axes: all for `None`, none for `Some(&[])`."
);
extremes!(
    min,
    Min,
    "The smallest element along some axes: all of them without `axis`, none of them for `axis=()`. NaN counts as the smallest.",
    "Returns the smallest element along some axes: all for `None`, none for `Some(&[])`."
);
