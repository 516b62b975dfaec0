//! The ops that gradients are made of: `sum_to_like`, `broadcast_like`, `sum_backward`,
//! `mean_backward`, `matrix_transpose`, `expand_dims`, `rms_norm_backward` and `rms_norm_factor`, in
//! all arrangements of tensors, against naive oracles.

use crate::number::Float;
use crate::oracle::indices;
use dlbridge::dtype::Scalar;
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{Element, Tensor, ops};
use half::{bf16, f16};

fn numbers<T: Float>(shape: &[usize], seed: usize) -> (Vec<f64>, Tensor) {
    let number = |at: usize| T::of((((at + seed).wrapping_mul(37) + at / 23) % 23) as i8 - 7);
    let numbers: Vec<T> = (0..shape.iter().product()).map(number).collect();
    let tensor = Tensor::from_slice(&numbers, shape).unwrap();
    (numbers.iter().map(|x| x.to_f64()).collect(), tensor)
}

fn rounded<T: Element>(shape: &[usize], numbers: &[f64]) -> Tensor {
    let scalars = numbers.iter().map(|number| Scalar::Float(*number));
    Tensor::from_scalars(shape, T::DTYPE, scalars).unwrap()
}

/// The place of an index of a larger shape in a smaller one that is broadcast to it.
fn place(index: &[usize], shape: &[usize]) -> usize {
    let index = &index[index.len() - shape.len()..];
    let along = index.iter().zip(shape);
    along.fold(0, |place, (at, size)| {
        place * size + if *size == 1 { 0 } else { *at }
    })
}

const PAIRS: [(&[usize], &[usize]); 8] = [
    (&[2, 3, 4], &[3, 1]),
    (&[2, 3, 4], &[2, 3, 4]),
    (&[2, 3, 4], &[]),
    (&[70, 5], &[1, 5]),
    (&[3, 0, 2], &[3, 1, 2]),
    (&[0, 4], &[4]),
    (&[1, 1], &[1]),
    (&[], &[]),
];

fn check_like<T: Float>() {
    for (large, small) in PAIRS {
        let (x, x_tensor) = numbers::<T>(large, 1);
        let (y, y_tensor) = numbers::<T>(small, 5);
        let mut sums = vec![0.0; y.len()];
        let mut spread = Vec::new();
        for (at, index) in indices(large).iter().enumerate() {
            sums[place(index, small)] += x[at];
            spread.push(y[place(index, small)]);
        }
        let test = OpTest::new("sum_to_like").input(&x_tensor).input(&y_tensor);
        test.expect(&rounded::<T>(small, &sums));
        let test = OpTest::new("broadcast_like")
            .input(&y_tensor)
            .input(&x_tensor);
        test.expect(&rounded::<T>(large, &spread));
    }
}

fn check_backward<T: Float>() {
    for (shape, axes) in [
        (&[2, 3, 4][..], &[1][..]),
        (&[2, 3, 4], &[0, -1]),
        (&[2, 3, 4], &[]),
        (&[5, 0, 2], &[0]),
        (&[7], &[0]),
    ] {
        for keepdims in [false, true] {
            let rank = shape.len() as i64;
            let is_reduced = |at: usize| {
                axes.iter()
                    .any(|axis: &i64| axis.rem_euclid(rank) == at as i64)
            };
            let size = |(at, size): (usize, &usize)| if is_reduced(at) { 1 } else { *size };
            let kept: Vec<usize> = shape.iter().enumerate().map(size).collect();
            let left: Vec<usize> = match keepdims {
                true => kept.clone(),
                false => (0..shape.len())
                    .filter(|at| !is_reduced(*at))
                    .map(|at| shape[at])
                    .collect(),
            };
            let (grad, grad_tensor) = numbers::<T>(&left, 2);
            let (_, like) = numbers::<T>(shape, 0);
            let count = shape.iter().product::<usize>() as f64 / grad.len().max(1) as f64;
            let spread: Vec<f64> = indices(shape)
                .iter()
                .map(|index| grad[place(index, &kept)])
                .collect();
            let mean: Vec<f64> = spread.iter().map(|grad| grad / count).collect();
            for (name, wanted) in [("sum_backward", spread), ("mean_backward", mean)] {
                let test = OpTest::new(name).input(&grad_tensor).input(&like);
                let test = test
                    .attribute("axis", Some(axes.to_vec()))
                    .attribute("keepdims", keepdims);
                test.within(Tolerance::close(0.0, T::ROUNDING))
                    .expect(&rounded::<T>(shape, &wanted));
            }
        }
    }
}

fn check_rms_norm<T: Float>() {
    for shape in [&[3, 40][..], &[2, 3, 5], &[7], &[0, 4], &[3, 1]] {
        let size = *shape.last().unwrap();
        let (grad, grad_tensor) = numbers::<T>(shape, 2);
        let (x, x_tensor) = numbers::<T>(shape, 11);
        let (weight, weights) = numbers::<T>(&[size], 4);
        for has_weight in [true, false] {
            let mut wanted = Vec::new();
            for (grad, x) in grad.chunks(size).zip(x.chunks(size)) {
                let g = |at: usize| grad[at] * if has_weight { weight[at] } else { 1.0 };
                let squares: f64 = x.iter().map(|x| x * x).sum();
                let r = 1.0 / (squares / size as f64 + 0.5).sqrt();
                let dot: f64 = (0..size).map(|at| g(at) * x[at]).sum();
                wanted
                    .extend((0..size).map(|at| r * g(at) - r.powi(3) * x[at] * dot / size as f64));
            }
            let test = OpTest::new("rms_norm_backward").attribute("eps", 0.5);
            let test = test.input(&grad_tensor).input(&x_tensor);
            let test = if has_weight {
                test.input(&weights)
            } else {
                test.no_input()
            };
            let tolerance = 4.0 * T::ROUNDING + 1e-5 * T::ROUNDING.min(1e-6) / 1e-6;
            let test = test.within(Tolerance::close(50.0 * tolerance, tolerance));
            test.expect(&rounded::<T>(shape, &wanted));
        }
    }
}

fn check_rms_norm_factor<T: Float>() {
    for shape in [&[3, 40][..], &[2, 3, 5], &[70, 33], &[7], &[0, 4], &[3, 1]] {
        let (x, tensor) = numbers::<T>(shape, 11);
        let (size, outer) = shape.split_last().unwrap();
        let factor = |x: &[f64]| {
            let squares: f64 = x.iter().map(|x| x * x).sum();
            1.0 / (squares / *size as f64 + 0.5).sqrt()
        };
        let wanted: Vec<f64> = x.chunks(*size).map(factor).collect();
        let test = OpTest::new("rms_norm_factor").attribute("eps", 0.5);
        let test = test.within(Tolerance::close(2.0 * T::ROUNDING, 0.0));
        let wanted = rounded::<T>(&[outer, &[1]].concat(), &wanted);
        test.input(&tensor).expect(&wanted);
    }
}

macro_rules! of_each_float {
    ($($name:ident: $T:ty;)*) => {$(
        #[test]
        fn $name() {
            check_like::<$T>();
            check_backward::<$T>();
            check_rms_norm::<$T>();
            check_rms_norm_factor::<$T>();
        }
    )*};
}

of_each_float! {
    gradients_of_f32: f32;
    gradients_of_f64: f64;
    gradients_of_f16: f16;
    gradients_of_bf16: bf16;
}

#[test]
fn rearrangements_equal_the_oracle() {
    for shape in [&[2, 3][..], &[4, 2, 3], &[0, 3], &[1, 1], &[2, 2, 3, 70]] {
        let x =
            Tensor::from_vec((0..shape.iter().product::<usize>() as i32).collect(), shape).unwrap();
        let values = x.to_vec::<i32>().unwrap();
        let rank = shape.len();
        let mut swapped = shape.to_vec();
        swapped.swap(rank - 1, rank - 2);
        let from = |index: &Vec<usize>| {
            let mut index = index.clone();
            index.swap(rank - 1, rank - 2);
            values[place(&index, shape)]
        };
        let wanted: Vec<i32> = indices(&swapped).iter().map(from).collect();
        let wanted = Tensor::from_vec(wanted, &swapped).unwrap();
        OpTest::new("matrix_transpose").input(&x).expect(&wanted);
        for axis in -(rank as i64) - 1..=rank as i64 {
            let mut wanted = shape.to_vec();
            wanted.insert(axis.rem_euclid(rank as i64 + 1) as usize, 1);
            let wanted = Tensor::from_vec(values.clone(), &wanted).unwrap();
            OpTest::new("expand_dims")
                .attribute("axis", axis)
                .input(&x)
                .expect(&wanted);
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let (x, y) = (Tensor::from([[0.0_f32; 3]; 2]), Tensor::from([0.0_f32; 2]));
    let message = |name: &str, a: &Tensor, b: &Tensor| {
        let op = dlbridge::kernel::Registry::global().op(name).unwrap();
        op.call().input(a).input(b).make().unwrap_err().to_string()
    };
    assert_eq!(
        message("sum_to_like", &x, &y),
        "sum_to_like: expected other of a shape that broadcasts to that of x, [2, 3], got [2]"
    );
    assert_eq!(
        message("broadcast_like", &y, &x),
        "broadcast_like: expected x of a shape that broadcasts to that of other, [2, 3], got [2]"
    );
    assert_eq!(
        message("sum_backward", &y, &x),
        "sum_backward: expected [] for grad, got [2]"
    );
    let error = ops::matrix_transpose(&y).unwrap_err().to_string();
    assert_eq!(
        error,
        "matrix_transpose: expected x of rank 2 or more, got rank 1"
    );
    assert!(ops::expand_dims(&y, 2).is_err());
}

#[test]
fn functions_call_the_ops() {
    let (x, y) = (
        Tensor::from([[1.0_f32, 2.0, 3.0]; 2]),
        Tensor::from([1.0_f32, 10.0, 100.0]),
    );
    let text = |tensor: Tensor| tensor.to_string();
    assert_eq!(text(ops::sum_to_like(&x, &y).unwrap()), "[2. 4. 6.]");
    let spread = "[[  1.  10. 100.]\n [  1.  10. 100.]]";
    assert_eq!(text(ops::broadcast_like(&y, &x).unwrap()), spread);
    assert_eq!(
        text(ops::sum_backward(&y, &x, Some(&[0]), false).unwrap()),
        spread
    );
    let halves = ops::mean_backward(&y, &x, Some(&[0]), false).unwrap();
    assert_eq!(text(halves), "[[ 0.5  5.0 50.0]\n [ 0.5  5.0 50.0]]");
    let x = Tensor::from([1.0_f64, 1.0]);
    let none = None::<&Tensor>;
    let gradient = ops::rms_norm_backward(&Tensor::from([1.0, 0.0]), &x, none, 0.0).unwrap();
    assert_eq!(text(gradient), "[ 0.5 -0.5]");
}
