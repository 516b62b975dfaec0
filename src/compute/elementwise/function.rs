//! [`Function`]: what a loop computes of each element.

/// A function of one element, or of several at the same index, as a tuple.
///
/// A closure that is long isn't always inlined into the loop, and then it is compiled for the
/// baseline alone. A function of this trait that is marked `#[inline(always)]` always is.
pub trait Function<Arguments>: Copy + Sync {
    /// The result.
    type Output;

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
