//! A fused activation with a gradient, for networks that are trained. Nothing here knows of Python.

use dlbridge::compute::elementwise::Function;
use dlbridge::compute::math::Math;
use dlbridge::kernel::{Kernel, Op, Source, Target};
use dlbridge::{register_kernel, register_op};
use half::bf16;
use std::ops::{Add, Mul, Neg};

register_op!(
    Op::new("nn.swiglu")
        .doc("The gated activation SwiGLU, without a tensor in between: y = silu(gate) * up.")
        .input("gate", "T")
        .input("up", "T")
        .output("y", "T")
        .sizes("gate[s...], up[s...] -> y[s...]")
        .elementwise()
        .in_place("y", "gate")
        .in_place("y", "up")
        .gradient("gate", "nn.swiglu_backward(gate, up, dy)")
        .gradient("up", "nn.swiglu(gate, dy)")
);
register_kernel!(
    for T in [f32, f64, bf16] =>
    Kernel::new("nn.swiglu").fills_results().releases_gil_from(1 << 14).function(
        |gate: Source<'_, T>, up: Source<'_, T>, y: Target<'_, T>| y.zip_wide(&gate, &up, SwiGlu)
    )
);

#[derive(Clone, Copy)]
struct SwiGlu;

/// `F` is `f32` for `bf16`: elements are converted before and after.
impl<F: Math + Mul<Output = F>> Function<(F, F)> for SwiGlu {
    type Output = F;

    #[inline(always)]
    fn call(self, (gate, up): (F, F)) -> F {
        gate.silu() * up
    }
}

register_op!(
    Op::new("nn.swiglu_backward")
        .doc("The gradient of nn.swiglu for its gate: z = silu'(gate) * up * dy.")
        .input("gate", "T")
        .input("up", "T")
        .input("dy", "T")
        .output("z", "T")
        .sizes("gate[s...], up[s...], dy[s...] -> z[s...]")
        .elementwise()
        .in_place("z", "gate")
        .in_place("z", "up")
        .in_place("z", "dy")
);
register_kernel!(
    for T in [f32, f64, bf16] =>
    Kernel::new("nn.swiglu_backward").fills_results().releases_gil_from(1 << 14).function(
        |gate: Source<'_, T>, up: Source<'_, T>, dy: Source<'_, T>, z: Target<'_, T>| {
            z.zip3_wide(&gate, &up, &dy, Backward);
        }
    )
);

#[derive(Clone, Copy)]
struct Backward;

impl<F> Function<(F, F, F)> for Backward
where
    F: Math + Add<Output = F> + Mul<Output = F> + Neg<Output = F>,
{
    type Output = F;

    #[inline(always)]
    fn call(self, (gate, up, dy): (F, F, F)) -> F {
        // Where 1 - sigmoid(gate) loses digits, sigmoid(-gate) doesn't.
        let slope = gate.sigmoid() + gate.silu() * (-gate).sigmoid();
        slope * up * dy
    }
}
