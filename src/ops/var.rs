//! `var` and `std`: variance and standard deviation along some axes, or all.

use super::axis::dimensions;
use super::number::{Float, Wide};
use super::reduce::{elements_of_x, reduced};
use crate::compute::elementwise::Widen;
use crate::compute::reduce::{Moments, Sums, moments};
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

macro_rules! sums {
    ($($ty:ident by $Wide:ident),*) => {$(
        impl Sums for $ty {
            type Wide = $Wide;

            #[inline(always)]
            fn widen(self) -> Self::Wide {
                Widen::widen(self)
            }
            #[inline(always)]
            fn round(number: f64) -> Self::Wide {
                Wide::from_f64(number)
            }
        }
    )*};
}

sums!(f16 by f32, bf16 by f32, f32 by f32, f64 by f64);

/// Returns the variance. As in NumPy and PyTorch it is infinite or NaN if there aren't more
/// elements than the correction, and NaN of one that is NaN.
fn variance(moments: Moments, correction: f64) -> f64 {
    let divisor = moments.count - correction;
    moments.squares / if divisor < 0.0 { 0.0 } else { divisor }
}

macro_rules! deviations {
    ($name:ident, |$variance:ident| $result:expr, $doc:literal, $rust_doc:literal, $value:literal) => {
        register_op!(
            Op::new(stringify!($name))
                .doc($doc)
                .input("x", "T")
                .output("out", "T")
                .attribute("axis", AttributeKind::OptionalInts, Some(None::<Vec<i64>>.into()))
                .attribute("correction", AttributeKind::Float, Some(0.0.into()))
                .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
                .shapes(|question| Ok(vec![reduced(question)?]))
                .sizes("x[s...] -> out[reduce(s, axis, keepdims)]")
                .batches()
                .work(elements_of_x)
        );
        register_kernel!(
            for T in [f32, f64, f16, bf16] =>
            Kernel::new(stringify!($name))
                .fills_results()
                .releases_gil_from(1 << 16)
                .factory(
                |context: &KernelContext<'_>| {
                    let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
                    let correction = context.attribute::<f64>("correction")?;
                    Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| -> Result<(), Failure> {
                        let is_reduced = dimensions(x.rank(), axes.as_deref())?;
                        moments(x, out, &is_reduced, |moments| {
                            let $variance = variance(moments, correction);
                            <T as Float>::rounded($result)
                        });
                        Ok(())
                    })
                }
            )
        );

        #[doc = $rust_doc]
        ///
        /// It is that of the whole population for a correction of 0, and that of a sample for 1.
        ///
        /// ```
        /// use dlbridge::{Tensor, ops};
        ///
        /// let x = Tensor::from([[1.0_f32, 5.0], [2.0, 2.0]]);
        #[doc = concat!("let spread = ops::", stringify!($name), "(&x, Some(&[1]), 0.0, false)?;")]
        #[doc = concat!("assert_eq!(spread.to_vec::<f32>()?, [", $value, ", 0.0]);")]
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// # Errors
        ///
        /// When the elements aren't floats, or there is no such axis.
        pub fn $name<'a>(
            x: impl IntoOperand<'a>,
            axes: Option<&[i64]>,
            correction: f64,
            keepdims: bool,
        ) -> Result<Tensor, CallError> {
            static OP: GlobalOp = GlobalOp::new(stringify!($name));
            let call = OP.get()?.call().input(x);
            call.attribute("axis", axes)
                .attribute("correction", correction)
                .attribute("keepdims", keepdims)
                .make()
        }
    };
}

deviations!(
    var,
    |variance| variance,
    "The variance of floats along some axes: all of them without `axis`, none of them for `axis=()`. The sum of the squared distances from the mean, over the number of elements less the correction.",
    "Returns the variance of floats along some axes: all for `None`, none for `Some(&[])`.",
    "4.0"
);
deviations!(
    std,
    |variance| variance.sqrt(),
    "The standard deviation of floats along some axes: all of them without `axis`, none of them for `axis=()`. The square root of the variance.",
    "Returns the standard deviation of floats along some axes: all for `None`, none for `Some(&[])`.",
    "2.0"
);
