//! An op with a gradient: the activation [Mish](https://arxiv.org/abs/1908.08681).

use dlbridge::compute::elementwise::Function;
use dlbridge::compute::math::Math;
use dlbridge::kernel::{Kernel, Op, Source, Target};
use half::bf16;
use std::ops::{Add, Mul, Sub};

dlbridge::register_op!(
    Op::new("cookbook.mish")
        .doc("The activation Mish: y = x * tanh(log(1 + exp(x))).")
        .input("x", "T")
        .output("y", "T")
        .elementwise()
        .in_place("y", "x")
        .gradient("x", "multiply(cookbook.mish_slope(x), dy)")
);
dlbridge::register_op!(
    Op::new("cookbook.mish_slope")
        .doc("The derivative of cookbook.mish.")
        .input("x", "T")
        .output("y", "T")
        .elementwise()
        .in_place("y", "x")
);

/// What floats are calculated with: `f32` for `bf16`.
trait Real: Math + From<f32> + Add<Output = Self> + Mul<Output = Self> + Sub<Output = Self> {}
impl<F: Math + From<f32> + Add<Output = F> + Mul<Output = F> + Sub<Output = F>> Real for F {}

fn tanh_softplus<F: Real>(x: F) -> F {
    (F::from(1.0) + x.exp()).log().tanh()
}

macro_rules! kernel {
    ($op:literal, $Name:ident, |$x:ident| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $Name;
        impl<F: Real> Function<(F,)> for $Name {
            type Output = F;
            #[inline(always)]
            fn call(self, ($x,): (F,)) -> F {
                $body
            }
        }
        dlbridge::register_kernel!(
            for T in [f32, f64, bf16] =>
            Kernel::new($op).fills_results().releases_gil_from(1 << 14)
                .function(|x: Source<'_, T>, y: Target<'_, T>| y.map_wide(1 << 14, &x, $Name))
        );
    };
}

kernel!("cookbook.mish", Mish, |x| x * tanh_softplus(x));
kernel!("cookbook.mish_slope", Slope, |x| {
    let t = tanh_softplus(x);
    t + x * (F::from(1.0) - t * t) * x.sigmoid()
});
