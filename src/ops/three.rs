//! Elementwise functions of three tensors: `where` and `fma`.

use super::number::Wide;
use crate::compute::elementwise::Function;
use crate::dtype::{DType, round_to_odd};
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
        .elementwise()
        .in_place("out", "a")
        .in_place("out", "b")
);
register_kernel!(
    for T in [bool, f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("where")
        .fills_results()
        .releases_gil_from(1 << 16)
        .function(
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
        .elementwise()
        .in_place("out", "a")
        .in_place("out", "b")
        .in_place("out", "c")
);
register_kernel!(
    for T in [f32, f64] =>
    Kernel::new("fma")
        .fills_results()
        .releases_gil_from(1 << 16)
        .function(
        |a: Source<'_, T>, b: Source<'_, T>, c: Source<'_, T>, out: Target<'_, T>| {
            out.zip3_wide(&a, &b, &c, Fma);
        }
    )
);
register_kernel!(
    for T in [f16, bf16] =>
    Kernel::new("fma")
        .fills_results()
        .releases_gil_from(1 << 16)
        .function(
        |a: Source<'_, T>, b: Source<'_, T>, c: Source<'_, T>, out: Target<'_, T>| {
            out.zip3_wide(&a, &b, &c, FmaToOdd);
        }
    )
);

#[derive(Clone, Copy)]
struct Fma;

impl<T: Wide> Function<(T, T, T)> for Fma {
    type Output = T;

    #[inline(always)]
    fn call(self, (a, b, c): (T, T, T)) -> T {
        a.fma(b, c)
    }
}

/// Of numbers that have 16 bits, and that are rounded to 16 bits afterwards: rounded to odd, so
/// that the result is as if it were rounded once.
#[derive(Clone, Copy)]
struct FmaToOdd;

impl Function<(f32, f32, f32)> for FmaToOdd {
    type Output = f32;

    #[inline(always)]
    fn call(self, (a, b, c): (f32, f32, f32)) -> f32 {
        // The product is exact.
        let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + c;
        // What the sum lost, after Knuth's two-sum.
        let (from_product, from_c) = (sum - (sum - product), sum - product);
        let lost = (product - from_product) + (c - from_c);
        // The neighbour towards what was lost is odd, if the sum is even. Of infinity and NaN
        // nothing is: what they lost is NaN, or infinite, too.
        let is_inexact = (lost != 0.0) & (sum.abs() < f64::INFINITY);
        let is_even = sum.to_bits() & 1 == 0;
        let is_away_from_0 = (lost > 0.0) == (sum > 0.0);
        let step = if is_away_from_0 { 1 } else { u64::MAX };
        let step = if is_inexact & is_even { step } else { 0 };
        round_to_odd(f64::from_bits(sum.to_bits().wrapping_add(step)))
    }
}

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
