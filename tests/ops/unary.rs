//! Elementwise functions of one tensor, compared with the language's in `f64`, in all arrangements,
//! numbers of threads and SIMD levels.

use crate::number::{Float, Number};
use dlbridge::dtype::Scalar;
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{Element, Tensor, ops};
use half::{bf16, f16};

/// Returns P(X < x) of a normally distributed `X`: by a series of positive terms, or the continued
/// fraction of the tail.
fn normal(x: f64) -> f64 {
    let a = x.abs();
    let density = (-0.5 * a * a).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let tail = if a < 3.0 {
        let terms = (1..60).scan(a, |term, at| {
            let now = *term;
            *term *= a * a / f64::from(2 * at + 1);
            Some(now)
        });
        0.5 - density * terms.sum::<f64>()
    } else {
        density / (1..200).rev().fold(a, |rest, at| a + f64::from(at) / rest)
    };
    if x < 0.0 { tail } else { 1.0 - tail }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu_tanh(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    x * sigmoid(2.0 * inner)
}

type Function = fn(f64) -> f64;

/// Functions of floats, and how many ulp a result of `f32` and of `f64` may be off.
const FUNCTIONS: [(&str, Function, u64); 9] = [
    ("sqrt", f64::sqrt, 0),
    ("rsqrt", |x| 1.0 / x.sqrt(), 2),
    ("exp", f64::exp, 3),
    ("log", f64::ln, 2),
    ("tanh", f64::tanh, 5),
    ("sigmoid", sigmoid, 4),
    ("silu", |x| x * sigmoid(x), 5),
    ("gelu", |x| x * normal(x), 7),
    ("relu", |x| if x > 0.0 { x } else { 0.0 }, 0),
];

fn numbers<T: Number>(shape: &[usize]) -> (Tensor, Vec<T>) {
    let len: usize = shape.iter().product();
    let number = |at: usize| T::of((at.wrapping_mul(37) % 23) as i8 - 7);
    let numbers: Vec<T> = (0..len).map(number).collect();
    (Tensor::from_slice(&numbers, shape).unwrap(), numbers)
}

/// Returns the nearest numbers of a type.
fn rounded<T: Element>(shape: &[usize], numbers: impl Iterator<Item = f64>) -> Tensor {
    Tensor::from_scalars(shape, T::DTYPE, numbers.map(Scalar::Float)).unwrap()
}

/// Returns a tolerance of `ulp` units in the last place of `f32` or `f64`, and of 1 of a shorter
/// type.
fn within<T: Element>(ulp: u64) -> Tolerance {
    Tolerance::ulp(if size_of::<T>() == 2 { ulp.min(1) } else { ulp })
}

fn check_floats<T: Float>() {
    for shape in [&[2, 3, 5][..], &[67], &[], &[0, 3]] {
        let (x, list) = numbers::<T>(shape);
        for (name, function, ulp) in FUNCTIONS {
            let expected = rounded::<T>(shape, list.iter().map(|x| function(x.to_f64())));
            // The series loses a few digits of `f64` below 0.
            let ulp = if name == "gelu" { 4 * ulp } else { ulp };
            OpTest::new(name)
                .input(&x)
                .within(within::<T>(ulp))
                .expect(&expected);
        }
        let expected = rounded::<T>(shape, list.iter().map(|x| gelu_tanh(x.to_f64())));
        let tolerance = Tolerance::close(1e-30, (8.0 * T::ROUNDING).clamp(1e-5, 1e-2));
        let tolerance = if T::ROUNDING < 1e-10 {
            Tolerance::close(1e-300, 1e-13)
        } else {
            tolerance
        };
        let test = OpTest::new("gelu")
            .attribute("approximate", "tanh")
            .input(&x);
        test.within(tolerance).expect(&expected);
        for (name, function) in [("negative", (|x| -x) as Function), ("abs", f64::abs)] {
            let expected = rounded::<T>(shape, list.iter().map(|x| function(x.to_f64())));
            OpTest::new(name).input(&x).expect(&expected);
        }
    }
}

#[test]
fn functions_of_f32_are_near_the_oracle() {
    check_floats::<f32>();
}

#[test]
fn functions_of_f64_are_near_the_oracle() {
    check_floats::<f64>();
}

#[test]
fn functions_of_f16_are_near_the_oracle() {
    check_floats::<f16>();
}

#[test]
fn functions_of_bf16_are_near_the_oracle() {
    check_floats::<bf16>();
}

#[test]
fn functions_of_large_tensors_are_near_the_oracle() {
    let shape = [131, 317];
    let list: Vec<f32> = (0..131 * 317)
        .map(|at| (at % 1_999) as f32 / 100.0 - 9.0)
        .collect();
    let x = Tensor::from_slice(&list, &shape).unwrap();
    let functions = FUNCTIONS.into_iter();
    for (name, function, ulp) in functions.filter(|(name, ..)| ["log", "gelu"].contains(name)) {
        let expected = rounded::<f32>(&shape, list.iter().map(|x| function(f64::from(*x))));
        OpTest::new(name)
            .input(&x)
            .within(Tolerance::ulp(ulp))
            .expect(&expected);
    }
}

macro_rules! check_integers {
    ($($ty:ident),*) => {$(
        let list = [$ty::MIN, $ty::MIN + 1, 0, 1, 5, $ty::MAX - 1, $ty::MAX, $ty::MAX / 2];
        let x = Tensor::from_slice(&list, &[2, 4]).unwrap();
        // As wide as can be, and then cut off.
        for (name, function) in [
            ("negative", (|x| -x) as fn(i128) -> i128),
            ("abs", i128::abs),
            ("relu", |x| x.max(0)),
        ] {
            let expected = list.map(|x| function(x as i128) as $ty);
            let expected = Tensor::from_slice(&expected, &[2, 4]).unwrap();
            OpTest::new(name).input(&x).expect(&expected);
        }
    )*};
}

#[test]
fn functions_of_integers_wrap_around() {
    check_integers!(i8, i16, i32, i64, u8, u16, u32, u64);
}

#[test]
fn functions_keep_special_values() {
    const INF: f32 = f32::INFINITY;
    type Op = fn(&Tensor) -> Result<Tensor, dlbridge::kernel::CallError>;
    let x = [-INF, -0.0, 0.0, INF, f32::NAN];
    let cases: [(Op, [f32; 4]); 11] = [
        (|x| ops::negative(x), [INF, 0.0, -0.0, -INF]),
        (|x| ops::abs(x), [INF, 0.0, 0.0, INF]),
        (|x| ops::relu(x), [0.0, -0.0, 0.0, INF]),
        (|x| ops::sqrt(x), [f32::NAN, -0.0, 0.0, INF]),
        (|x| ops::rsqrt(x), [f32::NAN, -INF, INF, 0.0]),
        (|x| ops::exp(x), [0.0, 1.0, 1.0, INF]),
        (|x| ops::log(x), [f32::NAN, -INF, -INF, INF]),
        (|x| ops::tanh(x), [-1.0, -0.0, 0.0, 1.0]),
        (|x| ops::sigmoid(x), [0.0, 0.5, 0.5, 1.0]),
        (|x| ops::silu(x), [-0.0, -0.0, 0.0, INF]),
        (|x| ops::gelu(x), [-0.0, -0.0, 0.0, INF]),
    ];
    for (at, (op, expected)) in cases.into_iter().enumerate() {
        macro_rules! check {
            ($($ty:ty, $to:expr, $from:expr;)*) => {$({
                let to: fn(f32) -> $ty = $to;
                let from: fn($ty) -> f32 = $from;
                let found = op(&Tensor::from_slice(&x.map(to), &[5]).unwrap()).unwrap();
                let found: Vec<f32> = found.to_vec::<$ty>().unwrap().into_iter().map(from).collect();
                for (found, expected) in found.iter().zip(expected) {
                    let is_same = found.to_bits() == expected.to_bits();
                    assert!(is_same || found.is_nan() && expected.is_nan(), "{at}: {found}, not {expected}");
                }
                assert!(found[4].is_nan(), "{at}");
            })*};
        }
        check! {
            f32, |x| x, |x| x;
            f64, f64::from, |x| x as f32;
            f16, f16::from_f32, f16::to_f32;
            bf16, bf16::from_f32, bf16::to_f32;
        }
    }
}

#[test]
fn gelu_rejects_unknown_approximation() {
    let x = Tensor::from([1.0_f32]);
    let gelu = dlbridge::kernel::GlobalOp::new("gelu");
    let call = gelu
        .get()
        .unwrap()
        .call()
        .attribute("approximate", "erf")
        .input(&x);
    let error = call.make().unwrap_err().to_string();
    assert!(error.contains("approximate"), "{error}");
}
