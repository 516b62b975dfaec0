//! [`Function`]: what a loop computes of each element.

/// A function of one element, or of several at the same index, as a tuple.
///
/// A closure that is long isn't always inlined into the loop, and then it is compiled for the
/// baseline alone. A function of this trait that is marked `#[inline(always)]` always is.
///
/// # Examples
///
/// A kernel that is computed in `f32` for `f16` and `bf16`:
///
/// ```
/// use dlbridge::compute::elementwise::{Function, GRAIN};
/// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
/// use dlbridge::Tensor;
/// use half::bf16;
///
/// #[derive(Clone, Copy)]
/// struct Softsign;
///
/// impl Function<(f32,)> for Softsign {
///     type Output = f32;
///
///     #[inline(always)]
///     fn call(self, (x,): (f32,)) -> f32 {
///         x / (1.0 + x.abs())
///     }
/// }
///
/// let registry = Registry::new();
/// registry.define(Op::new("softsign").input("x", "T").output("out", "T"))?;
/// registry.register(Kernel::new("softsign").function(
///     |x: Source<'_, bf16>, out: Target<'_, bf16>| out.map_wide(GRAIN, &x, Softsign),
/// ))?;
/// let x = Tensor::from([-1.0, 0.0, 3.0].map(bf16::from_f32));
/// let softsign = registry.op("softsign")?.call().input(&x).make()?;
/// assert_eq!(softsign.to_vec::<bf16>()?, [-0.5, 0.0, 0.75].map(bf16::from_f32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Function<Arguments>: Copy + Sync {
    /// The result.
    type Output;

    /// Whether results are often written over the first argument, so that a loop is compiled for
    /// that alone. Without it, they go through scratch memory there.
    const IN_PLACE: bool = false;

    /// Computes the result of an element, or of several.
    fn call(self, arguments: Arguments) -> Self::Output;
}

/// A closure.
pub(super) struct Closure<'a, F>(pub(super) &'a F);

impl<F> Clone for Closure<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Closure<'_, F> {}

/// A closure whose results replace its argument.
pub(super) struct Update<'a, F>(pub(super) &'a F);

impl<F> Clone for Update<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Update<'_, F> {}

impl<A, R, F: Fn(A) -> R + Sync> Function<(A,)> for Update<'_, F> {
    type Output = R;
    const IN_PLACE: bool = true;

    #[inline(always)]
    fn call(self, (a,): (A,)) -> R {
        (self.0)(a)
    }
}

macro_rules! closures {
    ($($($a:ident $A:ident),*;)*) => {$(
        impl<$($A,)* R, F: Fn($($A),*) -> R + Sync> Function<($($A,)*)> for Closure<'_, F> {
            type Output = R;

            #[inline(always)]
            fn call(self, ($($a,)*): ($($A,)*)) -> R {
                (self.0)($($a),*)
            }
        }
    )*};
}

closures! {
    a A;
    a A, b B;
    a A, b B, c C;
}
