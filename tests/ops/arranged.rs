//! Every op in all arrangements of its tensors, numbers of threads and SIMD levels, compared with
//! the oracles.

use crate::number::{Float, Number};
use crate::oracle::List;
use dlbridge::dtype::Scalar;
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{DType, Element, Tensor};
use half::{bf16, f16};

/// Small numbers in a shape, not in order.
fn list<T: Number>(shape: &[usize]) -> List<T> {
    let len: usize = shape.iter().product();
    let number = |at: usize| T::of((at.wrapping_mul(37) % 23) as i8 - 7);
    List {
        shape: shape.to_vec(),
        elements: (0..len).map(number).collect(),
    }
}

fn tensor<T: Element>(list: &List<T>) -> Tensor {
    Tensor::from_slice(&list.elements, &list.shape).unwrap()
}

/// The nearest numbers of a type.
fn rounded<T: Element>(shape: &[usize], numbers: &[f64]) -> Tensor {
    let scalars = numbers.iter().map(|number| Scalar::Float(*number));
    Tensor::from_scalars(shape, T::DTYPE, scalars).unwrap()
}

/// What is left after a few steps in `f32` or better and two roundings, the oracle's and the op's.
fn few_steps<T: Float>() -> Tolerance {
    let steps = 40.0 * (0.5_f64).powi(24).min(T::ROUNDING);
    Tolerance::close(T::SMALLEST.max(1e-37), 2.0 * T::ROUNDING + steps)
}

macro_rules! of_each_type {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            #[test]
            fn arithmetic_equals_the_oracle() {
                for (a, b) in [
                    (&[2, 3, 5][..], &[2, 3, 5][..]),
                    (&[2, 3, 5], &[3, 1]),
                    (&[1, 5], &[4, 1]),
                    (&[70], &[]),
                    (&[], &[]),
                    (&[0, 3], &[3]),
                ] {
                    let (a, b) = (list::<T>(a), list::<T>(b));
                    for (name, expected) in [
                        ("add", a.zip(&b, T::add)),
                        ("sub", a.zip(&b, T::sub)),
                        ("mul", a.zip(&b, T::mul)),
                    ] {
                        let test = OpTest::new(name).input(&tensor(&a)).input(&tensor(&b));
                        test.expect(&tensor(&expected.unwrap()));
                    }
                }
            }

            #[test]
            fn axpy_equals_the_oracle() {
                for shape in [&[3, 4, 5][..], &[67], &[], &[0]] {
                    let (x, mut y) = (list::<T>(shape), list::<T>(shape));
                    y.elements.reverse();
                    let test = OpTest::new("axpy").input(&Tensor::scalar(T::of(3)));
                    let expected = y.axpy(T::of(3), &x).unwrap();
                    test.input(&tensor(&x)).input(&tensor(&y)).expect(&tensor(&expected));
                }
            }

            #[test]
            fn copy_equals_the_input() {
                for shape in [&[3, 4, 5][..], &[67], &[], &[0]] {
                    let x = tensor(&list::<T>(shape));
                    OpTest::new("copy").input(&x).expect(&x);
                }
            }

            #[test]
            fn matmul_equals_the_oracle() {
                for (m, k, n) in [(5, 7, 6), (1, 40, 3), (17, 1, 19), (2, 0, 3), (0, 2, 2)] {
                    let (a, b) = (list::<T>(&[m, k]), list::<T>(&[k, n]));
                    let test = OpTest::new("matmul").input(&tensor(&a)).input(&tensor(&b));
                    test.expect(&tensor(&a.matmul(&b, |pairs| T::sum_of_products(pairs.into_iter())).unwrap()));
                }
            }

            #[test]
            fn reductions_equal_the_oracle() {
                let x = list::<T>(&[3, 4, 5]);
                for axes in [None, Some(vec![]), Some(vec![0]), Some(vec![-1]), Some(vec![0, 2])] {
                    let sum = x.reduce(axes.as_deref(), false, |part| T::sum(part.into_iter()));
                    let max = x.max(axes.as_deref(), false);
                    for (name, expected) in [("sum", sum), ("max", max)] {
                        let mut test = OpTest::new(name).attribute("axis", axes.clone());
                        if name == "sum" {
                            test = test.attribute("dtype", T::DTYPE);
                        }
                        test.input(&tensor(&x)).expect(&tensor(&expected.unwrap()));
                    }
                }
            }
        }
    )*};
}

of_each_type! {
    of_f32: f32;
    of_f64: f64;
    of_f16: f16;
    of_bf16: bf16;
    of_i8: i8;
    of_i16: i16;
    of_i32: i32;
    of_i64: i64;
    of_u8: u8;
    of_u16: u16;
    of_u32: u32;
    of_u64: u64;
}

macro_rules! of_each_float {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            #[test]
            fn div_and_mean_equal_the_oracle() {
                let (a, mut b) = (list::<T>(&[3, 4, 5]), list::<T>(&[4, 1]));
                b.elements[0] = T::of(0);
                let test = OpTest::new("div").input(&tensor(&a)).input(&tensor(&b));
                test.expect(&tensor(&a.zip(&b, T::div).unwrap()));
                for axes in [None, Some(vec![0]), Some(vec![-1]), Some(vec![0, 2])] {
                    let mean = a.reduce(axes.as_deref(), false, |part| T::mean(part.into_iter()));
                    let test = OpTest::new("mean").attribute("axis", axes).input(&tensor(&a));
                    test.expect(&tensor(&mean.unwrap()));
                }
            }

            #[test]
            fn softmax_is_near_the_oracle() {
                for shape in [&[3, 4, 5][..], &[2, 70], &[0, 3]] {
                    let x = list::<T>(shape);
                    for axis in [-1, 0] {
                        let expected = rounded::<T>(shape, &x.softmax(axis).unwrap());
                        let test = OpTest::new("softmax").attribute("axis", axis);
                        test.input(&tensor(&x)).within(few_steps::<T>()).expect(&expected);
                    }
                }
            }

            #[test]
            fn rms_norm_is_near_the_oracle() {
                for shape in [&[3, 4, 5][..], &[2, 70], &[0, 3]] {
                    let (x, weight) = (list::<T>(shape), list::<T>(&shape[shape.len() - 1..]));
                    let expected = rounded::<T>(shape, &x.rms_norm(&weight, 0.5).unwrap());
                    let test = OpTest::new("rms_norm").attribute("eps", 0.5).input(&tensor(&x));
                    test.input(&tensor(&weight)).within(few_steps::<T>()).expect(&expected);
                }
            }
        }
    )*};
}

mod floats {
    use super::*;

    of_each_float! {
        of_f32: f32;
        of_f64: f64;
        of_f16: f16;
        of_bf16: bf16;
    }
}

/// Enough rows for five threads.
const LARGE: [usize; 2] = [131, 317];

/// Small numbers, not in order.
fn large<T: Number>(seed: usize) -> Vec<T> {
    let len = LARGE[0] * LARGE[1];
    let number = |at: usize| T::of(((at + seed).wrapping_mul(37) % 23) as i8 - 7);
    (0..len).map(number).collect()
}

fn large_tensor<T: Number>() -> Tensor {
    Tensor::from_vec(large::<T>(0), &LARGE).unwrap()
}

fn check_large_add<T: Number>() {
    let (a, b) = (large::<T>(0), large::<T>(5));
    let sums = a.iter().zip(&b).map(|(a, b)| a.add(*b)).collect();
    let [a, b, sums] = [a, b, sums].map(|all| Tensor::from_vec(all, &LARGE).unwrap());
    OpTest::new("add").input(&a).input(&b).expect(&sums);
}

#[test]
fn large_add_equals_the_oracle() {
    check_large_add::<f32>();
    check_large_add::<f16>();
    check_large_add::<bf16>();
    check_large_add::<i8>();
    check_large_add::<u64>();
}

#[test]
fn large_broadcast_equals_the_oracle() {
    let (a, b) = (large::<i32>(0), large::<i32>(3));
    let [rows, columns] = LARGE;
    let (column, row) = (&b[..rows], &b[..columns]);
    let index = |at: usize| (at / columns, at % columns);
    let each = |function: &dyn Fn(usize) -> i32| {
        Tensor::from_vec((0..a.len()).map(function).collect(), &LARGE).unwrap()
    };
    let x = Tensor::from_slice(&a, &LARGE).unwrap();
    let y = Tensor::from_slice(column, &[rows, 1]).unwrap();
    let expected = each(&|at| a[at] - column[index(at).0]);
    OpTest::new("sub").input(&x).input(&y).expect(&expected);
    let y = Tensor::from_slice(row, &[columns]).unwrap();
    let expected = each(&|at| row[index(at).1] * a[at]);
    OpTest::new("mul").input(&y).input(&x).expect(&expected);
}

#[test]
fn large_axpy_copy_and_cast_equal_the_oracle() {
    let (x, y) = (large::<f32>(0), large::<f32>(9));
    let sums = y.iter().zip(&x).map(|(y, x)| y + 2.0 * x).collect();
    let [x, y, sums] = [x, y, sums].map(|all| Tensor::from_vec(all, &LARGE).unwrap());
    let test = OpTest::new("axpy").input(&Tensor::scalar(2.0_f32));
    test.input(&x).input(&y).expect(&sums);
    OpTest::new("copy").input(&x).expect(&x);
    let wide = x.to_vec::<f32>().unwrap().into_iter().map(f64::from);
    let wide = Tensor::from_vec(wide.collect(), &LARGE).unwrap();
    let cast = OpTest::new("cast").attribute("dtype", "float64");
    cast.input(&x).expect(&wide);
}

#[test]
fn large_reductions_equal_the_oracle() {
    let [rows, columns] = LARGE;
    let all = large::<i64>(0);
    let line = |axis: i64, at: usize| -> Vec<i64> {
        match axis {
            0 => all.iter().copied().skip(at).step_by(columns).collect(),
            _ => all[at * columns..][..columns].to_vec(),
        }
    };
    for (axis, len) in [(0, columns), (1, rows)] {
        let lines = || (0..len).map(|at| line(axis, at));
        let sums = lines().map(|line| line.iter().sum::<i64>());
        let largest = lines().map(|line| *line.iter().max().unwrap());
        let expected: [Vec<i64>; 2] = [sums.collect(), largest.collect()];
        for (name, expected) in ["sum", "max"].into_iter().zip(expected) {
            let expected = Tensor::from_vec(expected, &[len]).unwrap();
            let test = OpTest::new(name).attribute("axis", vec![axis]);
            test.input(&large_tensor::<i64>()).expect(&expected);
            // Of so few numbers a `f32` has every sum.
            let floats = expected.to_vec::<i64>().unwrap().into_iter();
            let floats = floats.map(|number| number as f32 / 8.0).collect();
            let test = OpTest::new(name).attribute("axis", vec![axis]);
            let expected = Tensor::from_vec(floats, &[len]).unwrap();
            test.input(&large_tensor::<f32>()).expect(&expected);
        }
    }
    let sum = Tensor::scalar(all.iter().sum::<i64>());
    OpTest::new("sum")
        .input(&large_tensor::<i64>())
        .expect(&sum);
}

#[test]
fn large_matmul_equals_the_oracle() {
    let (m, k, n) = (129, 70, 97);
    let [a, b] = [large::<f32>(0), large::<f32>(4)];
    // Sums of so few multiples of 1/64 are exact in every order.
    let element = |at: usize| -> f32 {
        let (row, column) = (at / n, at % n);
        (0..k).map(|at| a[row * k + at] * b[at * n + column]).sum()
    };
    let expected = Tensor::from_vec((0..m * n).map(element).collect(), &[m, n]).unwrap();
    let a = Tensor::from_slice(&a[..m * k], &[m, k]).unwrap();
    let b = Tensor::from_slice(&b[..k * n], &[k, n]).unwrap();
    OpTest::new("matmul").input(&a).input(&b).expect(&expected);
}

#[test]
fn large_rows_are_near_the_oracle() {
    let [_, columns] = LARGE;
    let x = large::<f32>(0);
    let rows = || {
        x.chunks(columns)
            .map(|row| row.iter().map(|x| f64::from(*x)))
    };
    let softmax = rows().flat_map(|row| {
        let sum: f64 = row.clone().map(f64::exp).sum();
        row.map(move |x| x.exp() / sum)
    });
    let softmax = rounded::<f32>(&LARGE, &softmax.collect::<Vec<_>>());
    let test = OpTest::new("softmax").input(&large_tensor::<f32>());
    test.within(Tolerance::close(1e-9, 1e-5)).expect(&softmax);
    let normed = rows().flat_map(|row| {
        let squares: f64 = row.clone().map(|x| x * x).sum();
        row.map(move |x| x / (squares / columns as f64 + 1e-6).sqrt())
    });
    let normed = rounded::<f32>(&LARGE, &normed.collect::<Vec<_>>());
    let ones = Tensor::ones(&[columns], DType::F32).unwrap();
    let test = OpTest::new("rms_norm").input(&large_tensor::<f32>());
    let test = test.input(&ones);
    test.within(Tolerance::close(1e-9, 1e-5)).expect(&normed);
}

#[test]
fn casts_equal_the_language() {
    let x = list::<i32>(&[3, 4, 5]);
    macro_rules! to {
        ($($ty:ty),*) => {$({
            let numbers = x.elements.iter().map(|x| *x as $ty).collect();
            let expected = Tensor::from_vec(numbers, &x.shape).unwrap();
            let cast = OpTest::new("cast").attribute("dtype", <$ty>::DTYPE);
            cast.input(&tensor(&x)).expect(&expected);
        })*};
    }
    to!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
}

#[test]
fn image_to_tensor_is_near_the_oracle() {
    for (batch, height, width) in [(2, 5, 7), (3, 160, 120)] {
        let pixels: Vec<u8> = (0..batch * height * width * 3)
            .map(|at| (at * 41 % 256) as u8)
            .collect();
        let (mean, std) = ([0.25_f32, 0.5, 0.75], [0.5_f32, 0.25, 1.0]);
        let shape = [batch, 3, height, width];
        let expected = (0..pixels.len()).map(|at| {
            let (pixel, channel) = (at % (height * width), at / (height * width) % 3);
            let image = at / (3 * height * width);
            let value = pixels[(image * height * width + pixel) * 3 + channel];
            (f64::from(value) / 255.0 - f64::from(mean[channel])) / f64::from(std[channel])
        });
        let expected = rounded::<f32>(&shape, &expected.collect::<Vec<_>>());
        let images = Tensor::from_slice(&pixels, &[batch, height, width, 3]).unwrap();
        let test = OpTest::new("image_to_tensor").input(&images);
        let test = test.input(&Tensor::from(mean)).input(&Tensor::from(std));
        test.within(Tolerance::close(1e-6, 1e-6)).expect(&expected);
    }
}
