//! `layer_norm`, and `rms_norm` without weights: examples, errors, and comparisons with an oracle in
//! more precision.

use crate::number::Float;
use dlbridge::dtype::Scalar;
use dlbridge::error::IncompatibilityKind;
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{DType, Element, Tensor, ops};
use half::{bf16, f16};

const NONE: Option<&Tensor> = None;

/// Small numbers in a shape, not in order.
fn numbers<T: Float>(shape: &[usize], seed: usize) -> (Vec<T>, Tensor) {
    let number = |at: usize| T::of((((at + seed).wrapping_mul(37) + at / 23) % 23) as i8 - 7);
    let numbers: Vec<T> = (0..shape.iter().product()).map(number).collect();
    let tensor = Tensor::from_slice(&numbers, shape).unwrap();
    (numbers, tensor)
}

fn rounded<T: Element>(shape: &[usize], numbers: &[f64]) -> Tensor {
    let scalars = numbers.iter().map(|number| Scalar::Float(*number));
    Tensor::from_scalars(shape, T::DTYPE, scalars).unwrap()
}

/// The normed elements along an axis.
fn normed(
    x: &[f64],
    (shape, axis): (&[usize], usize),
    (weight, bias): (Option<&[f64]>, Option<&[f64]>),
    eps: f64,
) -> Vec<f64> {
    let (size, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let mut normed = vec![0.0; x.len()];
    for line in 0..x.len() / size.max(1) {
        let first = line / inner * size * inner + line % inner;
        let places = || (0..size).map(|along| (along, first + along * inner));
        let mean = places().map(|(_, at)| x[at]).sum::<f64>() / size as f64;
        let squares = places().map(|(_, at)| (x[at] - mean).powi(2));
        let deviation = (squares.sum::<f64>() / size as f64 + eps).sqrt();
        for (along, at) in places() {
            let value = (x[at] - mean) / deviation * weight.map_or(1.0, |weight| weight[along]);
            normed[at] = value + bias.map_or(0.0, |bias| bias[along]);
        }
    }
    normed
}

fn check<T: Float>(shape: &[usize], axis: usize) {
    let (x, tensor) = numbers::<T>(shape, 0);
    let (weight, weights) = numbers::<T>(&[shape[axis]], 3);
    let (bias, biases) = numbers::<T>(&[shape[axis]], 8);
    let [x, weight, bias] =
        [x, weight, bias].map(|list| list.iter().map(|x| x.to_f64()).collect::<Vec<_>>());
    let steps = 200.0 * (0.5_f64).powi(24).min(T::ROUNDING);
    let tolerance = Tolerance::close(2.0 * T::ROUNDING + steps, 2.0 * T::ROUNDING + steps);
    for (has_weight, has_bias) in [(true, true), (true, false), (false, true), (false, false)] {
        let scale = (has_weight.then_some(&*weight), has_bias.then_some(&*bias));
        let expected = normed(&x, (shape, axis), scale, 0.5);
        let test = OpTest::new("layer_norm")
            .attribute("eps", 0.5)
            .input(&tensor);
        let test = test.attribute("axis", axis as i64 - shape.len() as i64);
        let with = |test: OpTest, has: bool, tensor| {
            if has {
                test.input(tensor)
            } else {
                test.no_input()
            }
        };
        let test = with(with(test, has_weight, &weights), has_bias, &biases);
        test.within(tolerance)
            .expect(&rounded::<T>(shape, &expected));
    }
}

macro_rules! of_each_float {
    ($($name:ident: $T:ty;)*) => {$(
        #[test]
        fn $name() {
            for (shape, axis) in [
                (&[3, 4, 5][..], 2), (&[3, 4, 5], 0), (&[2, 70], 1), (&[7], 0), (&[2, 1], 1), (&[0, 3], 1), (&[3, 0], 1),
            ] {
                check::<$T>(shape, axis);
            }
        }
    )*};
}

of_each_float! {
    layer_norm_of_f32_is_near_the_oracle: f32;
    layer_norm_of_f64_is_near_the_oracle: f64;
    layer_norm_of_f16_is_near_the_oracle: f16;
    layer_norm_of_bf16_is_near_the_oracle: bf16;
}

#[test]
fn large_layer_norm_is_near_the_oracle() {
    check::<f32>(&[131, 317], 1);
    check::<f32>(&[131, 317], 0);
    check::<bf16>(&[90, 501], 1);
}

#[test]
fn layer_norm_of_numbers_far_from_0_keeps_their_digits() {
    let x: Vec<f32> = (0..1000).map(|at| 1e6 + (at * 37 % 100) as f32).collect();
    let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let expected = normed(&wide, (&[1000], 0), (None, None), 1e-5);
    let normed = ops::layer_norm(
        &Tensor::from_slice(&x, &[1000]).unwrap(),
        NONE,
        NONE,
        0,
        1e-5,
    );
    for (found, expected) in normed
        .unwrap()
        .to_vec::<f32>()
        .unwrap()
        .iter()
        .zip(expected)
    {
        assert!(
            (f64::from(*found) - expected).abs() < 1e-6,
            "{found} and {expected}"
        );
    }
}

#[test]
fn layer_norm_of_special_values() {
    let x = Tensor::from([[1.0_f32, f32::NAN], [f32::INFINITY, 1.0], [2.0, 2.0]]);
    let list = ops::layer_norm(&x, NONE, NONE, -1, 1e-5)
        .unwrap()
        .to_vec::<f32>()
        .unwrap();
    assert!(list[..4].iter().all(|x| x.is_nan()), "{list:?}");
    assert_eq!(list[4..], [0.0, 0.0]);
    // Large numbers of 16 bits are squared in f32.
    let large = Tensor::from([f16::MAX, f16::MIN]);
    let list = ops::layer_norm(&large, NONE, NONE, 0, 0.0)
        .unwrap()
        .to_vec::<f16>()
        .unwrap();
    assert_eq!(list, [f16::ONE, f16::NEG_ONE]);
}

#[test]
fn norms_refuse_other_shapes_and_axes() {
    let (x, three) = (Tensor::from([[1.0_f64, 2.0]]), Tensor::from([1.0_f64; 3]));
    for (error, text, kind) in [
        (
            ops::layer_norm(&x, &three, NONE, -1, 0.0),
            "layer_norm: weight has shape [3], and axis 1 of x 2 elements",
            IncompatibilityKind::Shape,
        ),
        (
            ops::layer_norm(&x, NONE, &three, 0, 0.0),
            "layer_norm: bias has shape [3], and axis 0 of x 1 elements",
            IncompatibilityKind::Shape,
        ),
        (
            ops::layer_norm(&x, NONE, NONE, 2, 0.0),
            "layer_norm: axis 2 is out of bounds for a tensor of rank 2",
            IncompatibilityKind::Index,
        ),
        (
            ops::layer_norm(&Tensor::scalar(1.0), NONE, NONE, -1, 0.0),
            "layer_norm: axis -1 is out of bounds for a tensor of rank 0",
            IncompatibilityKind::Index,
        ),
        (
            ops::rms_norm(&x, &three, 0.0),
            "rms_norm: weight has shape [3], and the last axis of x 2 elements",
            IncompatibilityKind::Shape,
        ),
    ] {
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), text);
        assert_eq!(error.reason.incompatibility().kind, kind);
    }
    assert!(ops::layer_norm(&Tensor::from([1_i32]), NONE, NONE, 0, 0.0).is_err());
}

#[test]
fn rms_norm_without_weights_has_weights_of_1() {
    for shape in [&[3, 4, 5][..], &[131, 317], &[0, 3], &[2, 0]] {
        let (_, x) = numbers::<f32>(shape, 0);
        let ones = Tensor::ones(&shape[shape.len() - 1..], DType::F32).unwrap();
        let expected = ops::rms_norm(&x, &ones, 0.25).unwrap();
        let test = OpTest::new("rms_norm").attribute("eps", 0.25);
        test.input(&x).no_input().expect(&expected);
        assert_eq!(
            ops::rms_norm(&x, NONE, 0.25)
                .unwrap()
                .to_vec::<f32>()
                .unwrap(),
            expected.to_vec::<f32>().unwrap()
        );
    }
}

#[test]
fn lines_of_any_length_are_near_the_oracle() {
    for len in [1, 31, 32, 33, 63, 64, 65, 2047, 2048, 2049, 2080, 2085] {
        check::<f32>(&[2, len], 1);
        check::<f16>(&[1, len], 1);
        check::<bf16>(&[3, len], 1);
    }
}

#[test]
fn short_lines_have_the_bits_that_they_have_alone() {
    fn check<T: Float>() {
        for len in [1, 2, 5, 16, 17, 31, 32, 33] {
            let (_, x) = numbers::<T>(&[70, len], 1);
            let (_, weight) = numbers::<T>(&[len], 4);
            let of = |x: &Tensor| {
                [
                    ops::softmax(x, -1).unwrap(),
                    ops::log_softmax(x, -1).unwrap(),
                    ops::rms_norm(x, &weight, 0.5).unwrap(),
                    ops::layer_norm(x, &weight, &weight, -1, 0.5).unwrap(),
                    ops::layer_norm(x, NONE, &weight, -1, 0.5).unwrap(),
                ]
            };
            let together = of(&x);
            for line in 0..70 {
                for (all, alone) in together.iter().zip(of(&x.slice(0, line..=line).unwrap())) {
                    let line = all.slice(0, line..=line).unwrap();
                    let [line, alone] = [&line, &alone].map(|line| line.to_vec::<T>().unwrap());
                    assert_eq!(
                        format!("{line:?}"),
                        format!("{alone:?}"),
                        "{len} of {}",
                        T::DTYPE
                    );
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}
