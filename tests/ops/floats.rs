//! Ops of floats alone, compared with the oracles: exactly, or as closely as the type can tell.

use crate::cases::cases;
use crate::given::{lie, list, read_and_written, shape, two};
use crate::number::Float;
use crate::oracle::List;
use dlbridge::kernel::{CallError, Registry};
use dlbridge::{Tensor, ops};
use half::{bf16, f16};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// Whether a result is there where one is expected, of a shape, and close.
fn check<T: Float>(
    made: Result<Tensor, CallError>,
    shape: &[usize],
    expected: Option<Vec<f64>>,
) -> TestCaseResult {
    let Some(expected) = expected else {
        prop_assert!(made.is_err());
        return Ok(());
    };
    let made = made.unwrap();
    prop_assert!(made.layout().is_contiguous());
    prop_assert_eq!(made.shape(), shape);
    check_elements::<T>(&made, &expected)
}

fn check_elements<T: Float>(made: &Tensor, expected: &[f64]) -> TestCaseResult {
    let made = made.to_vec::<T>().unwrap();
    prop_assert_eq!(made.len(), expected.len());
    for (found, exact) in made.iter().zip(expected) {
        prop_assert!(found.is_close(*exact), "{:?} instead of {}", found, exact);
    }
    Ok(())
}

/// What is said of results, NaN being equal to itself.
fn shown<T: Float>(list: Option<List<T>>) -> String {
    format!("{list:?}")
}

fn tested<T: Float>(made: Result<Tensor, CallError>) -> Option<List<T>> {
    made.ok().map(|made| List::of(&made))
}

/// A tensor, and mostly as many weights as its last dimension has elements.
fn weighted<T: Float>() -> impl Strategy<Value = (List<T>, List<T>)> {
    let fit = shape().prop_flat_map(|shape| {
        let weights = shape.last().copied().unwrap_or(1);
        (list(shape), list(vec![weights]))
    });
    prop_oneof![5 => fit, 1 => two()]
}

macro_rules! of_each_float {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            proptest! {
                #![proptest_config(cases(200))]

                #[test]
                fn quotients((a, b) in two::<T>(), lies in [lie(), lie()]) {
                    let quotients = ops::div(&lies[0].tensor(&a), &lies[1].tensor(&b));
                    prop_assert_eq!(shown::<T>(tested(quotients)), shown(a.zip(&b, T::div)));
                }

                #[test]
                fn means(
                    x in shape().prop_flat_map(list::<T>),
                    axes in prop::option::of(prop::collection::vec(-4..4_i64, 0..=3)),
                    keeps in any::<bool>(),
                    lie in lie(),
                ) {
                    let mean = x.reduce(axes.as_deref(), keeps, |part| T::mean(part.into_iter()));
                    let made = ops::mean(&lie.tensor(&x), axes.as_deref(), keeps);
                    prop_assert_eq!(shown::<T>(tested(made)), shown(mean));
                }

                #[test]
                fn softmax(x in shape().prop_flat_map(list::<T>), axis in -4..4_i64, lies in [lie(), lie()]) {
                    let tensor = lies[0].tensor(&x);
                    let expected = x.softmax(axis);
                    check::<T>(ops::softmax(&tensor, axis), &x.shape, expected.clone())?;
                    let Some(expected) = expected else { return Ok(()) };
                    let softmax = Registry::global().op("softmax").unwrap();
                    let mut out = lies[1].empty::<T>(&x.shape);
                    let call = softmax.call().attribute("axis", axis).input(&tensor);
                    call.output(&mut out).run().unwrap();
                    check_elements::<T>(&out, &expected)?;
                    let mut tensor = lies[0].tensor(&x);
                    let (read, written) = read_and_written(&mut tensor);
                    let call = softmax.call().attribute("axis", axis).input(read);
                    call.output(written).run().unwrap();
                    check_elements::<T>(&tensor, &expected)?;
                }

                #[test]
                fn rms_norm(
                    (x, weight) in weighted::<T>(),
                    eps in prop_oneof![Just(0.0), Just(1e-6), Just(2.5)],
                    lies in [lie(), lie(), lie()],
                ) {
                    let (tensor, weights) = (lies[0].tensor(&x), lies[1].tensor(&weight));
                    let expected = x.rms_norm(&weight, eps);
                    check::<T>(ops::rms_norm(&tensor, &weights, eps), &x.shape, expected.clone())?;
                    let Some(expected) = expected else { return Ok(()) };
                    let rms_norm = Registry::global().op("rms_norm").unwrap();
                    let mut out = lies[2].empty::<T>(&x.shape);
                    let call = rms_norm.call().attribute("eps", eps).input(&tensor);
                    call.input(&weights).output(&mut out).run().unwrap();
                    check_elements::<T>(&out, &expected)?;
                    let mut tensor = lies[0].tensor(&x);
                    let (read, written) = read_and_written(&mut tensor);
                    let call = rms_norm.call().attribute("eps", eps).input(read);
                    call.input(&weights).output(written).run().unwrap();
                    check_elements::<T>(&tensor, &expected)?;
                }
            }
        }
    )*};
}

of_each_float! {
    of_f32: f32;
    of_f64: f64;
    of_f16: f16;
    of_bf16: bf16;
}
