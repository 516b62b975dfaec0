//! Ops on images. Nothing here knows of Python.

use dlbridge::kernel::{
    ArgumentError, AttributeKind, Failure, Kernel, KernelContext, Op, Source, Target,
};
use dlbridge::{Element, View, ViewMut, register_kernel, register_op};
use half::f16;

register_op!(
    Op::new("image.invert")
        .doc("The negative of an image: y = white - x.")
        .input("x", "T")
        .output("y", "T")
        .in_place("y", "x")
);
register_kernel!(
    for T in [u8, u16, f32, f64] =>
    Kernel::new("image.invert").releases_gil_from(1 << 16).function(invert::<T>)
);

fn invert<T: Pixel>(x: Source<'_, T>, y: Target<'_, T>) {
    y.map(&x, |x| T::WHITE - x);
}

/// A brightness, from zero to white.
trait Pixel: Element + std::ops::Sub<Output = Self> {
    const WHITE: Self;
}

macro_rules! pixels {
    ($($ty:ty: $white:expr),*) => {
        $(impl Pixel for $ty { const WHITE: Self = $white; })*
    };
}

pixels!(u8: u8::MAX, u16: u16::MAX, f32: 1.0, f64: 1.0);

register_op!(
    Op::new("image.normalize")
        .doc("Numbers of this mean and deviation become ones of mean 0 and deviation 1: y = (x - mean) / deviation.")
        .input("x", "T")
        .output("y", "T")
        .attribute("mean", AttributeKind::Float, Some(0.5.into()))
        .attribute("deviation", AttributeKind::Float, Some(0.5.into()))
        .in_place("y", "x")
);
register_kernel!(
    for T in [f16, f32, f64] =>
    Kernel::new("image.normalize").releases_gil_from(1 << 16).factory(|context: &KernelContext<'_>| {
        let scale = Scale::of(context)?;
        Ok(move |x: Source<'_, T>, y: Target<'_, T>| scale.apply(&x, &y))
    })
);
register_kernel!(
    for T in [f16, f32, f64] =>
    Kernel::new("image.normalize").label("strict").factory(|context: &KernelContext<'_>| {
        let scale = Scale::of(context)?;
        Ok(move |x: Source<'_, T>, y: Target<'_, T>| {
            check(&x)?;
            scale.apply(&x, &y);
            Ok::<_, ArgumentError>(())
        })
    })
);

/// What the attributes say. It is looked at once, and kept for all calls that say the same.
struct Scale {
    mean: f64,
    deviation: f64,
}

impl Scale {
    fn of(context: &KernelContext<'_>) -> Result<Self, Failure> {
        let mean = context.attribute("mean")?;
        let deviation: f64 = context.attribute("deviation")?;
        if deviation <= 0.0 || !deviation.is_finite() {
            let found = deviation.to_string();
            return Err(ArgumentError::value("deviation", found, "a positive number").into());
        }
        Ok(Self { mean, deviation })
    }

    fn apply<T: Number>(&self, x: &Source<'_, T>, y: &Target<'_, T>) {
        y.map(x, |x| T::down((x.up() - self.mean) / self.deviation));
    }
}

/// Selected by `label="strict"`.
fn check<T: Number>(x: &Source<'_, T>) -> Result<(), ArgumentError> {
    match x.iter().map(T::up).find(|x| !x.is_finite()) {
        Some(x) => Err(ArgumentError::value(
            "x",
            x.to_string(),
            "a finite brightness",
        )),
        None => Ok(()),
    }
}

/// A number that can be calculated with as a `f64`.
trait Number: Element {
    fn up(self) -> f64;
    fn down(number: f64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty: $up:expr, $down:expr);*) => {$(
        impl Number for $ty {
            fn up(self) -> f64 {
                let up: fn(Self) -> f64 = $up;
                up(self)
            }
            fn down(number: f64) -> Self {
                let down: fn(f64) -> Self = $down;
                down(number)
            }
        }
    )*};
}

numbers!(f16: f16::to_f64, f16::from_f64; f32: f64::from, |x| x as f32; f64: |x| x, |x| x);

register_op!(
    Op::new("image.range")
        .doc("The darkest and the brightest element.")
        .input("x", "T")
        .output("darkest", "T")
        .output("brightest", "T")
        .shapes(|question| match question.shape("x").contains(&0) {
            true => Err("there is no image".into()),
            false => Ok(vec![vec![], vec![]]),
        })
);
register_kernel!(
    for T in [u8, u16, f32, f64] =>
    Kernel::new("image.range").releases_gil_from(1 << 16).function(range::<T>)
);

fn range<T: Pixel + PartialOrd>(
    x: View<'_, T>,
    mut darkest: ViewMut<'_, T>,
    mut brightest: ViewMut<'_, T>,
) {
    let first = *x.iter().next().expect("the op has no empty images");
    let ends = x.iter().fold((first, first), |(low, high), x| {
        (
            if *x < low { *x } else { low },
            if *x > high { *x } else { high },
        )
    });
    (darkest[[]], brightest[[]]) = ends;
}
