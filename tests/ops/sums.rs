//! `sum`, `mean` and `max` of lines of many lengths, and of 16-bit floats, in all arrangements of
//! tensors, numbers of threads and SIMD levels.

use crate::number::Number;
use dlbridge::compute::{Level, with_level};
use dlbridge::kernel::Registry;
use dlbridge::testing::OpTest;
use dlbridge::{DType, Element, Tensor, ops};
use half::{bf16, f16};

/// Multiples of an eighth, of which every float has all sums and means that are tested here.
fn eighths(len: usize) -> impl Iterator<Item = i8> {
    (0..len).map(|at| (at.wrapping_mul(37) % 23) as i8 - 7)
}

fn check_lines<T: Number + Into<f64>>(lines: usize, len: usize, of: impl Fn(f64) -> T) {
    let x: Vec<T> = eighths(lines * len).map(T::of).collect();
    let results = |function: &dyn Fn(&mut dyn Iterator<Item = f64>) -> f64| {
        let line = |at: usize| {
            let mut line = x[at * len..][..len].iter().map(|x| (*x).into());
            of(function(&mut line))
        };
        Tensor::from_vec((0..lines).map(line).collect(), &[lines]).unwrap()
    };
    let sums = results(&|line| line.sum());
    let largest = results(&|line| line.fold(f64::NEG_INFINITY, f64::max));
    let x = Tensor::from_slice(&x, &[lines, len]).unwrap();
    for (name, expected) in [("sum", &sums), ("max", &largest)] {
        let test = OpTest::new(name).attribute("axis", vec![1_i64]);
        test.input(&x).expect(expected);
    }
    if lines == 1 {
        let expected = sums.reshape(&[]).unwrap();
        OpTest::new("sum").input(&x).expect(&expected);
    }
}

#[test]
fn sums_and_largest_of_lines_of_many_lengths_equal_the_oracle() {
    for lines in [1, 3, 40] {
        for len in [1, 7, 31, 32, 33, 64, 100, 255, 300] {
            // Small enough for every sum to be a 16-bit float.
            check_lines::<f32>(lines, len, |sum| sum as f32);
            check_lines::<f64>(lines, len, |sum| sum);
            check_lines::<f16>(lines, len, f16::from_f64);
            check_lines::<bf16>(lines, len, bf16::from_f64);
        }
    }
}

#[test]
fn sums_of_f16_across_rows_equal_the_oracle() {
    for (rows, columns) in [(9, 64), (20, 100), (8, 200), (3, 130)] {
        let x: Vec<f16> = eighths(rows * columns).map(f16::of).collect();
        let column = |at: usize| x.iter().skip(at).step_by(columns).map(|x| x.to_f64());
        let sums = (0..columns).map(|at| f16::from_f64(column(at).sum()));
        let expected = Tensor::from_vec(sums.collect(), &[columns]).unwrap();
        let x = Tensor::from_slice(&x, &[rows, columns]).unwrap();
        let test = OpTest::new("sum").attribute("axis", vec![0_i64]);
        test.input(&x).expect(&expected);
    }
}

/// Numbers of all sizes and both signs, and one that others hardly change.
fn uneven(len: usize) -> Vec<f32> {
    let number = |at: usize| {
        let bits = at.wrapping_mul(0x9e37_79b9) as u32;
        let size = f32::from_bits(0x3000_0000 + (bits >> 4));
        if bits & 1 == 0 { size } else { -size / 3.0 }
    };
    let mut x: Vec<f32> = (0..len).map(number).collect();
    x[len / 3] = 16_777_216.0;
    x
}

#[test]
fn sum_of_f32_is_as_accurate_as_documented() {
    at_each_level(|| {
        for [rows, columns] in [[1, 1000], [7, 5000], [3000, 11], [500, 70]] {
            check_sums(&uneven(rows * columns), rows, columns);
        }
        // Rounding goes one way for long in a sum of one number.
        check_sums(&[0.1; 100_000], 1, 100_000);
        check_sums(&[0.1; 100_000], 50_000, 2);
    });
}

#[test]
fn sum_beyond_f32_is_infinite_and_f64_has_room_for_it() {
    at_each_level(|| {
        let x = Tensor::from_vec(vec![3e38_f32; 400], &[4, 100]).unwrap();
        for axes in [None, Some(&[0][..]), Some(&[1])] {
            let narrow = [ops::sum(&x, axes, false), ops::mean(&x, axes, false)];
            for found in narrow.map(|found| found.unwrap().to_vec::<f32>().unwrap()) {
                assert!(found.iter().all(|x| *x == f32::INFINITY), "{found:?}");
            }
            let wide = ops::sum_to(&x, axes, false, DType::F64).unwrap();
            assert!(wide.to_vec::<f64>().unwrap().iter().all(|x| *x > 5e38));
        }
    });
}

/// Compares sums along both axes with exact ones.
fn check_sums(x: &[f32], rows: usize, columns: usize) {
    fn check(x: impl Iterator<Item = f32> + Clone, found: f32, wide: f64) {
        let exact: f64 = x.clone().map(f64::from).sum();
        let magnitudes: f64 = x.map(|x| f64::from(x.abs())).sum();
        assert!((wide - exact).abs() <= 1e-12 * magnitudes);
        let bound = 21.0 / f64::from(1 << 24) * magnitudes + f64::from(f32::EPSILON) * exact.abs();
        let error = (f64::from(found) - exact).abs();
        assert!(error <= bound, "{error:e} instead of at most {bound:e}");
    }
    let tensor = Tensor::from_slice(x, &[rows, columns]).unwrap();
    for axis in 0..2 {
        let axes = Some(&[axis][..]);
        let sums = ops::sum(&tensor, axes, false).unwrap();
        let wide = ops::sum_to(&tensor, axes, false, DType::F64).unwrap();
        let sums = sums.to_vec::<f32>().unwrap();
        let wide = wide.to_vec::<f64>().unwrap();
        for (at, (found, wide)) in sums.into_iter().zip(wide).enumerate() {
            if axis == 0 {
                check(x[at..].iter().step_by(columns).copied(), found, wide);
            } else {
                check(x[at * columns..][..columns].iter().copied(), found, wide);
            }
        }
    }
}

/// Calls a function at each level that the CPU has.
fn at_each_level(function: impl Fn()) {
    let levels = Level::loops();
    levels.for_each(|level| with_level(level, &function));
}

#[test]
fn sum_of_every_f16_alone_and_in_rows_is_that_number() {
    at_each_level(|| {
        for first in (0..=u16::MAX).step_by(1 << 12) {
            let x: Vec<f16> = (first..=first + 0xfff).map(f16::from_bits).collect();
            // Each number in a line of zeros, and in a column of them.
            let mut lines = vec![f16::ZERO; x.len() * 64];
            for (at, x) in x.iter().enumerate() {
                lines[at * 64 + at % 64] = *x;
            }
            let lines = Tensor::from_vec(lines, &[x.len(), 64]).unwrap();
            let sums = ops::sum(&lines, Some(&[1]), false).unwrap();
            let rows = Tensor::from_slice(&x, &[1, x.len()]).unwrap();
            let rows = ops::sum(&rows, Some(&[0]), false).unwrap();
            for found in [sums, rows] {
                let found = found.to_vec::<f16>().unwrap();
                for (x, found) in x.iter().zip(found) {
                    let is_same = *x == found || x.is_nan() && found.is_nan();
                    assert!(is_same, "{x:?} became {found:?}");
                }
            }
        }
    });
}

#[test]
fn sums_have_the_same_bits_for_every_layout_of_the_result() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(of: impl Fn(f64) -> T) {
        // Rounding depends on the order of additions.
        let number = |at: usize| of(1.0 / (1 + at.wrapping_mul(7919) % 1009) as f64);
        for (lines, len) in [(5, 100), (40, 33), (2, 4000), (3, 20)] {
            let x: Vec<T> = (0..lines * len).map(number).collect();
            let x = Tensor::from_vec(x, &[lines, len]).unwrap();
            let expected = ops::sum(&x, Some(&[1]), false).unwrap();
            let expected = expected.to_vec::<T>().unwrap();
            let room = Tensor::from_vec(vec![of(0.0); 3 * lines], &[3 * lines]).unwrap();
            let mut out = room.step_by(0, 3).unwrap();
            drop(room);
            let sum = dlbridge::kernel::Registry::global().op("sum").unwrap();
            let call = sum.call().input(&x).attribute("axis", vec![1_i64]);
            call.output(&mut out).run().unwrap();
            assert_eq!(out.to_vec::<T>().unwrap(), expected, "{lines}x{len}");
        }
    }
    at_each_level(|| {
        check(|x| x as f32);
        check(|x| x);
        check(f16::from_f64);
        check(bf16::from_f64);
    });
}

/// Numbers whose sums are rounded.
fn fractions(len: usize) -> impl Iterator<Item = f64> {
    (0..len).map(|at| ((at * 7919 + 13) % 10_007) as f64 / 9_973.0 - 0.5)
}

/// Checks that results are the same bits wherever they are written.
fn check_places<T: Element + PartialEq + std::fmt::Debug>(of: impl Fn(f64) -> T) {
    for (shape, axis) in [
        ([200, 2, 6], 2),
        ([40, 3, 100], 2),
        ([6, 40, 50], 0),
        ([9, 99, 13], 1),
    ] {
        let x = fractions(shape.iter().product()).map(&of).collect();
        let x = Tensor::from_vec(x, &shape).unwrap();
        let by_columns = x.permute(&[2, 1, 0]).unwrap().copy().unwrap();
        let kept: Vec<usize> = (0..3)
            .filter(|at| *at != axis)
            .map(|at| shape[at])
            .collect();
        let zeros = |rows: usize, columns: usize| Tensor::zeros(&[rows, columns], T::DTYPE);
        for x in [x, by_columns.permute(&[2, 1, 0]).unwrap()] {
            for name in ["sum", "mean", "var", "std"] {
                let into = |mut out: Tensor| {
                    let op = Registry::global().op(name).unwrap();
                    let call = op.call().attribute("axis", vec![axis as i64]);
                    call.input(&x).output(&mut out).run().unwrap();
                    out.to_vec::<T>().unwrap()
                };
                let expected = into(zeros(kept[0], kept[1]).unwrap());
                let by_columns = zeros(kept[1], kept[0]).unwrap().transpose();
                assert_eq!(into(by_columns), expected, "{name}");
                let part = {
                    let wide = zeros(kept[0], kept[1] + 1).unwrap();
                    wide.slice(1, 0..kept[1]).unwrap()
                };
                assert_eq!(into(part), expected, "{name}");
            }
        }
    }
}

#[test]
fn results_of_reductions_are_the_same_bits_wherever_they_are_written() {
    check_places::<f32>(|x| x as f32);
    check_places::<f64>(|x| x);
    check_places::<bf16>(bf16::from_f64);
}

#[test]
fn reductions_of_nothing_take_no_time() {
    // One step for each index of the first axis would take hours.
    let x = Tensor::zeros(&[1 << 40, 0], DType::F32).unwrap();
    let sum = ops::sum(&x, None, false).unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [0.0]);
}

#[test]
fn products_are_the_same_bits_for_any_number_of_threads() {
    // The last of several parts may be one column, which alone would be a small product.
    for (depth, columns) in [(2000, 97), (1300, 193), (2000, 161), (2000, 201)] {
        let made = |rows: usize, columns: usize| {
            let numbers = fractions(rows * columns).map(|x| x as f32).collect();
            Tensor::from_vec(numbers, &[rows, columns]).unwrap()
        };
        let (a, b) = (made(2, depth), made(depth, columns));
        let product = |threads: usize| {
            let call = Registry::global().op("matmul").unwrap();
            let product = call.call().input(&a).input(&b).threads(threads).make();
            product.unwrap().to_vec::<f32>().unwrap()
        };
        let expected = product(1);
        for threads in 2..=8 {
            assert!(
                product(threads) == expected,
                "{columns} columns, {threads} threads"
            );
        }
    }
}

#[test]
fn parameters_of_nothing_are_not_copied() {
    // Of this size they couldn't be.
    let many = 1 << 40;
    let one = Tensor::from([1.0_f32]).broadcast_to(&[many]).unwrap();
    let nothing = Tensor::zeros(&[0, many], DType::F32).unwrap();
    let op = |name: &str| Registry::global().op(name).unwrap();
    for name in ["rms_norm", "layer_norm"] {
        let op = op(name);
        let call = op.call().input(&nothing).named("weight", &one);
        assert_eq!(call.make().unwrap().shape(), [0, many]);
    }
    let nothing = nothing.transpose();
    let (quantize, backward) = (op("quantize"), op("mean_backward"));
    let call = quantize.call().input(&nothing).named("scale", &one);
    let made = call.attribute("axis", 0_i64).make().unwrap();
    assert_eq!(made.shape(), [many, 0]);
    let call = backward.call().input(&one).input(&nothing);
    let made = call.attribute("axis", vec![1_i64]).make().unwrap();
    assert_eq!(made.shape(), [many, 0]);
}
