//! An extension crate: an op with kernels, and kernels for an op of another crate.

use dlbridge::Element;
use dlbridge::kernel::{AttributeKind, Kernel, KernelContext, Op, Source, Target};

dlbridge::register_op!(
    Op::new("third_party.scale")
        .doc("Every element times a factor.")
        .input("x", "T")
        .output("out", "T")
        .attribute("factor", AttributeKind::Float, Some(2.0.into()))
        .in_place("out", "x")
);
dlbridge::register_kernel!(Kernel::new("third_party.scale").name("scaled").factory(
    |context: &KernelContext<'_>| {
        let factor = context.attribute::<f64>("factor")?;
        Ok(move |x: Source<'_, f64>, out: Target<'_, f64>| out.map(&x, |x| factor * x))
    }
));

// Sums that stop at the largest number instead of wrapping around, selected by a label.
dlbridge::register_kernel!(
    for T in [i8, u8] => Kernel::new("add").label("saturating").function(saturating_add::<T>)
);

/// Numbers whose sums can stop at the largest.
trait Saturating: Element {
    fn saturating_plus(self, other: Self) -> Self;
}

macro_rules! saturating {
    ($($ty:ty),*) => {$(
        impl Saturating for $ty {
            fn saturating_plus(self, other: Self) -> Self {
                self.saturating_add(other)
            }
        }
    )*};
}

saturating!(i8, u8);

fn saturating_add<T: Saturating>(a: Source<'_, T>, b: Source<'_, T>, out: Target<'_, T>) {
    out.zip(&a, &b, T::saturating_plus);
}

/// A kernel of a module's own: that is what it is listed with.
pub mod inner {
    use dlbridge::kernel::{Kernel, Source, Target};

    dlbridge::register_kernel!(
        Kernel::new("third_party.scale")
            .function(|x: Source<'_, i64>, out: Target<'_, i64>| out.map(&x, |x| 2 * x))
    );
}

/// Registrations that are refused when the program starts, each of an op of its own.
pub mod refused {
    use dlbridge::kernel::{Kernel, Op, Source, Target};

    dlbridge::register_op!(
        Op::new("third_party.twice")
            .input("x", "T")
            .output("out", "T")
    );
    dlbridge::register_kernel!(for T in [f32, f32] => Kernel::new("third_party.twice").function(copy));
    dlbridge::register_kernel!(
        Kernel::new("third_party.nowhere")
            .name("lost")
            .function(copy)
    );

    dlbridge::register_op!(
        Op::new("third_party.nonsense")
            .input("x", "T")
            .output("out", "T")
            .sizes("x[n -> out[n]")
    );

    fn copy(x: Source<'_, f32>, out: Target<'_, f32>) {
        out.map(&x, |x| x);
    }
}
