//! `sum`: summation along some axes, or all.

use super::axis::dimensions;
use super::number::Total;
use super::reduce::{Summed, call, reduction_to};
use crate::dtype::{DType, Element};
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::UntypedMut;
use crate::tensor::Tensor;
use crate::view::View;
use half::{bf16, f16};

register_op!(
    reduction_to(
        "sum",
        "The sum of the elements along some axes: all of them without `axis`, none of them for `axis=()`. Sums of \
         signed integers are int64 and those of unsigned ones uint64, unless `dtype` says otherwise; they wrap \
         around. On the CPU floats of up to 32 bits are added up in lanes of float32, which a float64 adds up; \
         float32 with `dtype=float64` in float64 throughout.",
        ElementType::AttributeOrSum { attribute: "dtype".into(), variable: "T".into() }
    )
    .attribute("dtype", AttributeKind::OptionalDType, Some(None::<DType>.into()))
    .gradient("x", "sum_backward(cast(dout, dtype=dtype(x)), x, axis=axis, keepdims=keepdims)")
);

/// Kernels for elements and results of these types.
macro_rules! kernels {
    (($($T:ident),*) to $Results:tt by |$total:ident| $number:expr) => {$(
        kernels!(one $T to $Results by |$total| $number);
    )*};
    (one $T:ident to ($($R:ident),*) by |$total:ident| $number:expr) => {
        register_kernel!(
            Kernel::new("sum")
                .fills_results()
                .attribute("dtype", [None, $(Some($R::DTYPE)),*])
                .releases_gil_from(1 << 16)
                .factory(|context: &KernelContext<'_>| {
                    let axes = context.attribute::<Option<Vec<i64>>>("axis")?;
                    Ok(move |x: View<'_, $T>, mut out: UntypedMut<'_>| -> Result<(), Failure> {
                        let is_reduced = dimensions(x.rank(), axes.as_deref())?;
                        $(if let Some(out) = out.view_mut::<$R>() {
                            $T::write_sums(x, out, &is_reduced, |$total| {
                                <$R as FromTotal<_>>::from_total($number)
                            });
                            return Ok(());
                        })*
                        Err(format!("out, of {}, isn't aligned; pass an aligned tensor", out.dtype()).into())
                    })
                })
        );
    };
}

kernels!((i8, i16, i32, i64, u8, u16, u32, u64) to (i64, i8, i16, i32, u8, u16, u32, u64) by |total| total);
kernels!((f16, bf16, f32, f64) to (f16, bf16, f32, f64) by |total| total.sum());

/// A type of results, made of totals.
trait FromTotal<T> {
    fn from_total(total: T) -> Self;
}

macro_rules! from_integers {
    ($($ty:ident),*) => {$(
        impl FromTotal<i64> for $ty {
            #[inline(always)]
            fn from_total(total: i64) -> Self {
                total as $ty
            }
        }
        impl FromTotal<u64> for $ty {
            #[inline(always)]
            fn from_total(total: u64) -> Self {
                total as $ty
            }
        }
    )*};
}

from_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! from_floats {
    ($($ty:ident),*) => {$(
        impl FromTotal<f64> for $ty {
            #[inline(always)]
            fn from_total(total: f64) -> Self {
                super::number::Float::rounded(total)
            }
        }
    )*};
}

from_floats!(f16, bf16, f32, f64);

/// Returns the sum of the elements along some axes: all for `None`, none for `Some(&[])`.
///
/// Sums of signed integers are `i64`, and those of unsigned ones `u64`, as in the array API
/// standard and NumPy; [`sum_to`] chooses another type. They wrap around.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let x = Tensor::from([[100_i8, 100], [1, 2]]);
/// assert_eq!(ops::sum(&x, Some(&[1]), false)?.to_vec::<i64>()?, [200, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When there is no such axis.
pub fn sum<'a>(
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    call(&SUM, x, axes, keepdims)
}

/// Returns the sum of the elements along some axes like [`sum`], as elements of a dtype: any
/// integers of integers, any floats of floats.
///
/// ```
/// use dlbridge::{DType, Tensor, ops};
///
/// let x = Tensor::from([100_i8, 100]);
/// assert_eq!(ops::sum_to(&x, None, false, DType::I8)?.to_vec::<i8>()?, [-56]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When there is no such axis, or sums aren't made of such elements to this dtype.
pub fn sum_to<'a>(
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
    dtype: DType,
) -> Result<Tensor, CallError> {
    let call = SUM.get()?.call().input(x);
    call.attribute("axis", axes)
        .attribute("keepdims", keepdims)
        .attribute("dtype", dtype)
        .make()
}

static SUM: GlobalOp = GlobalOp::new("sum");
