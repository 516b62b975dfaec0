//! `softmax` along one axis, and `log_softmax`, its logarithm.

use super::axis::dimension;
use super::lanes::{LANES, largest, largests, map, map_and_sum, mapped, scale, sum, sums};
use super::lines::{OfLines, compute_lines};
use super::number::{Float, Number, Wide};
use crate::compute::Simd;
use crate::compute::lines::Scratch;
use crate::compute::math::Math;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::Source;
use crate::kernel::Target;
use crate::tensor::Tensor;
use half::{bf16, f16};

/// The definition of an op and its kernels, of which `IS_LOG` says which of both it is.
macro_rules! of_lines {
    ($name:literal, $is_log:literal, $doc:literal, gradient $gradient:literal) => {
        register_op!(
            Op::new($name)
                .doc($doc)
                .input("x", "T")
                .output("out", "T")
                .attribute("axis", AttributeKind::Int, Some((-1_i64).into()))
                .keeps_shape(|question| {
                    dimension(question.shape("x").len(), question.attribute("axis")?)?;
                    Ok(())
                })
                .sizes("x[p..., n@axis, q...] -> out[p..., n, q...]")
                .batches()
                .gradient("x", $gradient)
                .in_place("out", "x")
        );
        register_kernel!(
            for T in [f32, f64, f16, bf16] =>
            Kernel::new($name)
                .fills_results()
                .releases_gil_from(1 << 14)
                .factory(|context: &KernelContext<'_>| {
                let axis = context.attribute("axis")?;
                Ok(move |x: Source<'_, T>, out: Target<'_, T>| {
                    kernel::<T, $is_log>(axis, x, out)
                })
            })
        );
    };
}

of_lines!(
    "softmax",
    false,
    "The exponentials of floats along an axis, over their sum: exp(x) / the sum of exp(x).",
    gradient "multiply(out, subtract(dout, sum(multiply(dout, out), axis=axis, keepdims=True)))"
);
of_lines!(
    "log_softmax",
    true,
    "The logarithm of softmax of floats along an axis: x - log(the sum of exp(x)), without overflow.",
    gradient "subtract(dout, multiply(exp(out), sum(dout, axis=axis, keepdims=True)))"
);

fn kernel<T: Float, const IS_LOG: bool>(
    axis: i64,
    x: Source<'_, T>,
    out: Target<'_, T>,
) -> Result<(), Failure> {
    let axis = dimension(x.shape().len(), axis)?;
    match IS_LOG {
        true => compute_lines(x, out, axis, &LogSoftmax),
        false => compute_lines(x, out, axis, &Softmax),
    }
    Ok(())
}

/// A line's softmax.
struct Softmax;

impl<T: Float> OfLines<T> for Softmax {
    #[inline(always)]
    fn compute<S: Simd>(&self, x: &[T], out: &mut [T], scratch: &mut Scratch, simd: S) {
        let power = power(largest(x, simd));
        let share = |sum| T::Wide::from_f64(1.0).div(T::Wide::from_f64(sum));
        if let Some(out) = T::as_wide_mut(out) {
            let share = share(map_and_sum(x, out, simd, power));
            for out in out {
                *out = out.mul(share);
            }
        } else {
            let powers = scratch.floats(x.len());
            let share = share(map_and_sum(x, powers, simd, power));
            scale(powers, out, simd, share);
        }
    }

    #[inline(always)]
    fn compute_across(&self, rows: &mut [[T::Wide; LANES]]) {
        let largests = largests(rows);
        for row in &mut *rows {
            for at in 0..LANES {
                row[at] = power(largests[at])(row[at]);
            }
        }
        let sums = sums(rows.iter().copied());
        let shares = mapped(sums, |sum| T::Wide::from_f64(1.0).div(sum));
        for row in rows {
            for at in 0..LANES {
                row[at] = row[at].mul(shares[at]);
            }
        }
    }
}

/// The logarithm of a line's softmax.
struct LogSoftmax;

/// How many lines have their logarithms calculated at once.
const LOGS: usize = 32;

impl<T: Float> OfLines<T> for LogSoftmax {
    #[inline(always)]
    fn compute<S: Simd>(&self, x: &[T], out: &mut [T], scratch: &mut Scratch, simd: S) {
        self.compute_all(std::iter::once((x, out)), scratch, simd);
    }

    #[inline(always)]
    fn compute_across(&self, rows: &mut [[T::Wide; LANES]]) {
        let largests = largests(rows);
        let sums = sums(rows.iter().map(|row| {
            let mut powers = *row;
            for at in 0..LANES {
                powers[at] = power(largests[at])(row[at]);
            }
            powers
        }));
        let logs = mapped(sums, |sum| sum.log());
        for row in rows {
            for at in 0..LANES {
                row[at] = row[at].sub(largests[at]).sub(logs[at]);
            }
        }
    }

    #[inline(always)]
    fn compute_all<'a, S: Simd>(
        &self,
        mut lines: impl Iterator<Item = (&'a [T], &'a mut [T])>,
        _: &mut Scratch,
        simd: S,
    ) {
        let one = T::Wide::from_f64(1.0);
        loop {
            let mut places: [(&[T], &mut [T]); LOGS] = std::array::from_fn(|_| Default::default());
            let mut largests = [one; LOGS];
            let mut logs = [one; LOGS];
            let mut count = 0;
            for place in lines.by_ref().take(LOGS) {
                let x = place.0;
                largests[count] = largest(x, simd);
                logs[count] = T::Wide::from_f64(sum(x, simd, power(largests[count])));
                places[count] = place;
                count += 1;
            }
            if count == 0 {
                return;
            }
            // Those of a single line aren't worth a vector's.
            if count == 1 {
                logs[0] = logs[0].log();
            } else {
                for log in &mut logs {
                    *log = log.log();
                }
            }
            let logs = largests.iter().zip(&logs);
            for ((x, out), (largest, log)) in places.iter_mut().zip(logs).take(count) {
                map(x, [], out, simd, |x, []| x.sub(*largest).sub(*log));
            }
        }
    }
}

/// Returns the power of a number's distance to the largest one, which is at most 0 so that none is
/// too large. Those of a line with a NaN add up to NaN.
#[inline(always)]
fn power<W: Wide>(largest: W) -> impl Fn(W) -> W {
    move |x| x.sub(largest).exp_of_negative()
}

/// Computes the softmax of floats along an axis.
///
/// # Errors
///
/// When the elements aren't floats, or there is no such axis.
pub fn softmax<'a>(x: impl IntoOperand<'a>, axis: i64) -> Result<Tensor, CallError> {
    static SOFTMAX: GlobalOp = GlobalOp::new("softmax");
    let call = SOFTMAX.get()?.call().input(x);
    call.attribute("axis", axis).make()
}

/// Computes the logarithm of the softmax of floats along an axis, which is exact where softmax
/// itself would be 0.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let logs = ops::log_softmax(&Tensor::from([0.0_f32, 1000.0]), -1)?;
/// assert_eq!(logs.to_vec::<f32>()?, [-1000.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the elements aren't floats, or there is no such axis.
pub fn log_softmax<'a>(x: impl IntoOperand<'a>, axis: i64) -> Result<Tensor, CallError> {
    static LOG_SOFTMAX: GlobalOp = GlobalOp::new("log_softmax");
    let call = LOG_SOFTMAX.get()?.call().input(x);
    call.attribute("axis", axis).make()
}
