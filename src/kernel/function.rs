//! [`KernelFunction`]: Rust functions that are kernels.

use super::argument_type::{Parameter, Wants};
use super::error::Failure;
use super::operand::Operand;
use std::sync::Arc;

/// A kernel, called with arguments that were checked: one for each parameter, and then the other
/// tensors of a variadic one.
pub(super) type Compute = Arc<dyn Fn(&[Operand<'_>]) -> Result<(), Failure> + Send + Sync>;

/// Return types of kernels: nothing, or a `Result` of it.
pub trait Outcome {
    #[doc(hidden)]
    fn into_result(self) -> Result<(), Failure>;
}

impl Outcome for () {
    #[inline]
    fn into_result(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Into<Failure>> Outcome for Result<(), E> {
    #[inline]
    fn into_result(self) -> Result<(), Failure> {
        self.map_err(Into::into)
    }
}

/// A function whose arguments are each a [`Parameter`], in the order of the op's: inputs first,
/// then outputs. `M` is what tells functions of different numbers of arguments apart; it is found
/// by the compiler.
pub trait KernelFunction<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn wants() -> Vec<Wants>;

    #[doc(hidden)]
    fn into_compute(self) -> Shared;
}

/// Hides what kernels are called through.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "no code sees one")]
pub struct Shared(pub(super) Compute);

macro_rules! functions {
    ($($P:ident $at:tt),*) => {
        impl<F, R, $($P),*> KernelFunction<fn($($P),*) -> R> for F
        where
            F: Send + Sync + 'static,
            $($P: Parameter,)*
            R: Outcome,
            // The first tells which parameters there are, the second that any call will do.
            F: Fn($($P),*) -> R,
            F: for<'a> Fn($($P::Item<'a>),*) -> R,
        {
            fn wants() -> Vec<Wants> {
                vec![$($P::WANTS),*]
            }

            fn into_compute(self) -> Shared {
                const COUNT: usize = [$($at),*].len();
                Shared(Arc::new(move |operands| {
                    let (operands, more) = operands.split_at(COUNT);
                    // SAFETY: the frame checked each operand against `WANTS`, and that
                    // what is written is used in no other way; each is taken once, as at most one
                    // parameter is variadic.
                    let result = unsafe { self($($P::take(&operands[$at], more)),*) };
                    result.into_result()
                }))
            }
        }
    };
}

functions!(A 0);
functions!(A 0, B 1);
functions!(A 0, B 1, C 2);
functions!(A 0, B 1, C 2, D 3);
functions!(A 0, B 1, C 2, D 3, E 4);
functions!(A 0, B 1, C 2, D 3, E 4, G 5);
functions!(A 0, B 1, C 2, D 3, E 4, G 5, H 6);
functions!(A 0, B 1, C 2, D 3, E 4, G 5, H 6, I 7);
