//! `argmax` and `argmin`: the index of the largest or the smallest element along an axis, or of
//! all.

use super::axis::{Dimensions, dimension, dimensions};
use super::reduce::{check_choice, elements_of_x, left};
use crate::compute::reduce::{Extreme, index_of_extreme};
use crate::dtype::DType;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

/// Returns for each dimension whether the elements along it are searched.
fn searched(rank: usize, axis: Option<i64>) -> Result<Dimensions, Failure> {
    match axis {
        None => dimensions(rank, None),
        Some(axis) => {
            let axis = dimension(rank, axis)?;
            Ok((0..rank).map(|at| at == axis).collect())
        }
    }
}

macro_rules! extremes {
    ($name:ident, $Extreme:ident, $which:literal, $doc:literal, $rust_doc:literal, $x:literal, $index:literal) => {
        register_op!(
            Op::new(stringify!($name))
                .doc($doc)
                .input("x", "T")
                .output("out", DType::I64)
                .attribute("axis", AttributeKind::OptionalInt, Some(None::<i64>.into()))
                .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
                .shapes(|question| {
                    let shape = question.shape("x");
                    let is_searched = searched(shape.len(), question.attribute("axis")?)?;
                    let left = left(shape, &is_searched, question.attribute("keepdims")?);
                    check_choice(shape, &left, $which)?;
                    Ok(vec![left])
                })
                .sizes("x[s...] -> out[reduce(s, axis, keepdims)]")
                .work(elements_of_x)
        );
        register_kernel!(
            for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
            Kernel::new(stringify!($name))
                .fills_results()
                .releases_gil_from(1 << 16)
                .factory(
                |context: &KernelContext<'_>| {
                    let axis = context.attribute::<Option<i64>>("axis")?;
                    Ok(move |x: View<'_, T>, out: ViewMut<'_, i64>| -> Result<(), Failure> {
                        let is_searched = searched(x.rank(), axis)?;
                        index_of_extreme(x, out, &is_searched, Extreme::$Extreme);
                        Ok(())
                    })
                }
            )
        );

        #[doc = $rust_doc]
        ///
        /// Of equal elements it is the first one's, and NaN counts as the extreme. Without an axis
        /// it is the index in the flattened tensor, in row-major order.
        ///
        /// ```
        /// use dlbridge::{Tensor, ops};
        ///
        #[doc = $x]
        #[doc = concat!("assert_eq!(ops::", stringify!($name), "(&x, Some(1), false)?.to_vec::<i64>()?, [", $index, "]);")]
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        ///
        /// When there is no such axis, or there are no elements to choose from.
        pub fn $name<'a>(
            x: impl IntoOperand<'a>,
            axis: Option<i64>,
            keepdims: bool,
        ) -> Result<Tensor, CallError> {
            static OP: GlobalOp = GlobalOp::new(stringify!($name));
            let call = OP.get()?.call().input(x);
            call.attribute("axis", axis).attribute("keepdims", keepdims).make()
        }
    };
}

extremes!(
    argmax,
    Largest,
    "largest",
    "The index of the largest element along an axis, of equal ones the first; without `axis` the index in the flattened tensor, in row-major order. NaN counts as the largest.",
    "Returns the index of the largest element along an axis, or of all.",
    "let x = Tensor::from([[1.0_f32, 3.0, 3.0], [f32::NAN, 5.0, 4.0]]);",
    "1, 0"
);
extremes!(
    argmin,
    Smallest,
    "smallest",
    "The index of the smallest element along an axis, of equal ones the first; without `axis` the index in the flattened tensor, in row-major order. NaN counts as the smallest.",
    "Returns the index of the smallest element along an axis, or of all.",
    "let x = Tensor::from([[4.0_f32, 1.0, 1.0], [f32::NAN, 5.0, 4.0]]);",
    "1, 0"
);
