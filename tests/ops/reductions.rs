//! `argmax`, `argmin`, `log_softmax`, and the dtypes of `sum`: in all arrangements of
//! tensors, numbers of threads and SIMD levels, against naive oracles.

use crate::cases::cases;
use crate::oracle::indices;
use dlbridge::dtype::Scalar;
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{DType, Element, Tensor, ops};
use half::{bf16, f16};
use proptest::prelude::*;
use std::cmp::Ordering;

/// Numbers that aren't in order, with duplicates.
pub(crate) fn numbers<T>(len: usize, number: impl Fn(i8) -> T) -> Vec<T> {
    (0..len)
        .map(|at| number((at.wrapping_mul(89) % 251) as u8 as i8))
        .collect()
}

/// Groups of positions in row-major order, one for each result: those that differ only along the
/// axes.
pub(crate) fn groups(shape: &[usize], axes: &[usize]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let kept: Vec<usize> = (0..shape.len()).filter(|at| !axes.contains(at)).collect();
    let left: Vec<usize> = kept.iter().map(|at| shape[*at]).collect();
    let mut groups = vec![Vec::new(); left.iter().product()];
    for (position, index) in indices(shape).iter().enumerate() {
        let mut group = 0;
        for at in &kept {
            group = group * shape[*at] + index[*at];
        }
        groups[group].push(position);
    }
    (left, groups)
}

/// Returns the index of the first element that no other one beats, in a group of positions.
fn first_best<T: PartialOrd + Copy>(
    x: &[T],
    group: &[usize],
    beats: impl Fn(&T, &T) -> bool,
) -> i64 {
    #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
    let is_nan = |x: &T| x != x;
    let nan = group.iter().position(|at| is_nan(&x[*at]));
    let is_best = |at: &usize| !group.iter().any(|other| beats(&x[*other], &x[*at]));
    let best = nan.or_else(|| group.iter().position(is_best));
    best.unwrap() as i64
}

fn check_argmax<T: Element + PartialOrd>(x: &[T], shape: &[usize]) {
    let every: Vec<usize> = (0..shape.len()).collect();
    let all = (0..shape.len()).map(|axis| (Some(axis as i64), vec![axis]));
    for (axis, axes) in all.chain([(None, every)]) {
        let (left, groups) = groups(shape, &axes);
        if x.is_empty() && !groups.is_empty() {
            continue;
        }
        for (name, wins) in [("argmax", Ordering::Greater), ("argmin", Ordering::Less)] {
            let beats = |a: &T, b: &T| a.partial_cmp(b) == Some(wins);
            let best = groups.iter().map(|group| first_best(x, group, beats));
            let expected = Tensor::from_vec(best.collect(), &left).unwrap();
            let test = OpTest::new(name).attribute("axis", axis);
            let test = test.input(&Tensor::from_slice(x, shape).unwrap());
            test.expect(&expected);
        }
    }
}

#[test]
fn argmax_of_every_type_equals_the_oracle() {
    for shape in [
        &[3, 4, 5][..],
        &[2, 70],
        &[70, 2],
        &[1],
        &[],
        &[0, 4],
        &[3, 40, 2],
        &[40, 33],
    ] {
        let len = shape.iter().product();
        check_argmax(&numbers(len, f32::from), shape);
        check_argmax(&numbers(len, f64::from), shape);
        check_argmax(&numbers(len, f16::from), shape);
        check_argmax(&numbers(len, bf16::from), shape);
        check_argmax(&numbers(len, |x| x), shape);
        check_argmax(&numbers(len, |x| i16::from(x) * 250), shape);
        check_argmax(&numbers(len, |x| i32::from(x) << 24), shape);
        check_argmax(&numbers(len, |x| i64::from(x) << 56), shape);
        check_argmax(&numbers(len, |x| x as u8), shape);
        check_argmax(&numbers(len, |x| x as u16), shape);
        check_argmax(&numbers(len, |x| x as u32), shape);
        check_argmax(&numbers(len, |x| x as u64), shape);
    }
}

#[test]
fn argmax_counts_nan_as_the_extreme_and_zeros_as_equal() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for x in [
        vec![0.0, -0.0, 0.0],
        vec![-0.0, 0.0],
        vec![1.0, nan, inf, nan],
        vec![-nan, -inf, nan],
        vec![-inf, -inf],
        vec![inf, inf, -inf],
        vec![nan],
    ] {
        check_argmax(&x, &[x.len()]);
        check_argmax(
            &x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(),
            &[x.len()],
        );
        check_argmax(
            &x.iter().map(|x| f16::from_f32(*x)).collect::<Vec<_>>(),
            &[x.len()],
        );
        check_argmax(
            &x.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>(),
            &[1, x.len()],
        );
    }
    let mut x = vec![0.0_f32; 10_000];
    for at in [9_999, 5_000, 4_096, 31, 0] {
        x[at] = nan;
        check_large_argmax(&x, &[10_000], None, at as i64, at as i64);
    }
}

fn check_large_argmax<T: Element>(
    x: &[T],
    shape: &[usize],
    axis: Option<i64>,
    largest: i64,
    smallest: i64,
) {
    let x = Tensor::from_slice(x, shape).unwrap();
    for (name, expected) in [("argmax", largest), ("argmin", smallest)] {
        let test = OpTest::new(name).attribute("axis", axis).input(&x);
        test.expect(&Tensor::scalar(expected));
    }
}

#[test]
fn argmax_of_large_tensors_equals_the_oracle() {
    // In order, so that every block has a new best one; and equal, so that none has.
    let rising: Vec<i32> = (0..60_000).collect();
    check_large_argmax(&rising, &[120, 500], None, 59_999, 0);
    let falling: Vec<f32> = (0..60_000).rev().map(|x| x as f32).collect();
    check_large_argmax(&falling, &[60_000], Some(0), 0, 59_999);
    check_large_argmax(&vec![7_u8; 60_000], &[2, 30_000], None, 0, 0);
    for shape in [&[200, 301][..], &[301, 200]] {
        let x = numbers(200 * 301, |x| f32::from(x) / 3.0);
        let x = Tensor::from_vec(x, shape).unwrap();
        let all = x.to_vec::<f32>().unwrap();
        for axis in [0, 1] {
            let (left, groups) = groups(shape, &[axis]);
            let best = groups
                .iter()
                .map(|group| first_best(&all, group, |a, b| a > b));
            let expected = Tensor::from_vec(best.collect(), &left).unwrap();
            let test = OpTest::new("argmax").attribute("axis", Some(axis as i64));
            test.input(&x).expect(&expected);
        }
    }
    // More rows than a byte counts.
    let mut x = vec![1_i8; 1000 * 20];
    x[700 * 20 + 3] = 2;
    x[900 * 20 + 3] = 2;
    let mut expected = vec![0_i64; 20];
    expected[3] = 700;
    let test = OpTest::new("argmax").attribute("axis", Some(0));
    let test = test.input(&Tensor::from_vec(x, &[1000, 20]).unwrap());
    test.expect(&Tensor::from_vec(expected, &[20]).unwrap());
}

#[test]
fn argmax_refuses_what_has_no_elements() {
    let x = Tensor::zeros(&[3, 0], DType::F32).unwrap();
    for axis in [None, Some(1)] {
        let error = ops::argmax(&x, axis, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "argmax: x, of shape [3, 0], has no largest element"
        );
    }
    assert_eq!(ops::argmin(&x, Some(0), true).unwrap().shape(), [1, 0]);
    let error = ops::argmin(&x, Some(2), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argmin: axis 2 is out of bounds for a tensor of rank 2"
    );
    let kept = ops::argmax(&Tensor::from([[1_i32, 9], [3, 4]]), None, true).unwrap();
    assert_eq!(
        (kept.shape(), kept.to_vec::<i64>().unwrap()),
        (&[1, 1][..], vec![1])
    );
}

/// Checks the same numbers, of a range of `1 / scale`, as each float type within a tolerance of its
/// own.
macro_rules! check_every_float {
    ($check:ident, $shape:expr, $scale:literal, $tolerances:expr) => {{
        let (shape, [of_f32, of_f64, of_f16, of_bf16]) = ($shape, $tolerances);
        let len = shape.iter().product();
        let (f32s, f64s) = (|x| f32::from(x) / $scale, |x| f64::from(x) / $scale);
        $check(&numbers(len, f32s), shape, of_f32);
        $check(&numbers(len, f64s), shape, of_f64);
        $check(&numbers(len, f16::from), shape, of_f16);
        $check(&numbers(len, bf16::from), shape, of_bf16);
    }};
}
pub(crate) use check_every_float;

/// The nearest numbers of a type.
pub(crate) fn rounded<T: Element>(shape: &[usize], numbers: impl Iterator<Item = f64>) -> Tensor {
    Tensor::from_scalars(shape, T::DTYPE, numbers.map(Scalar::Float)).unwrap()
}

#[test]
fn log_softmax_is_near_the_oracle() {
    fn check<T: Element + Into<f64>>(x: &[T], shape: &[usize], tolerance: Tolerance) {
        for axis in [0, shape.len() - 1] {
            let (_, groups) = groups(shape, &[axis]);
            let mut expected = vec![0.0; x.len()];
            for group in groups {
                let part = || group.iter().map(|at| -> f64 { x[*at].into() });
                let largest = part().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = part().map(|x| (x - largest).exp()).sum();
                for (at, x) in group.iter().zip(part()) {
                    expected[*at] = x - largest - sum.ln();
                }
            }
            let test = OpTest::new("log_softmax").attribute("axis", axis as i64);
            let test = test.input(&Tensor::from_slice(x, shape).unwrap());
            test.within(tolerance)
                .expect(&rounded::<T>(shape, expected.into_iter()));
        }
    }
    for shape in [&[3, 4, 5][..], &[2, 70], &[0, 3], &[131, 317]] {
        let tolerances = [
            Tolerance::close(2e-6, 1e-6),
            Tolerance::close(1e-14, 1e-14),
            Tolerance::close(1e-3, 2e-3),
            Tolerance::close(1e-3, 1e-2),
        ];
        check_every_float!(check, shape, 1.0, tolerances);
    }
}

/// Sums of elements, to every dtype of its kind.
fn check_sums<T: Element>(x: &[T], number: impl Fn(T) -> i128, usual: DType) {
    let (left, groups) = groups(&[x.len() / 100, 100], &[1]);
    let sums = groups.iter();
    let sums = sums.map(|group| group.iter().map(|at| number(x[*at])).sum::<i128>());
    let sums: Vec<i128> = sums.collect();
    let x = Tensor::from_slice(x, &[x.len() / 100, 100]).unwrap();
    macro_rules! to {
        ($($ty:ty),*) => {$({
            let wrapped = sums.iter().map(|sum| *sum as $ty).collect();
            let expected = Tensor::from_vec(wrapped, &left).unwrap();
            let test = OpTest::new("sum").attribute("axis", vec![1]).input(&x);
            test.attribute("dtype", <$ty>::DTYPE).expect(&expected);
            if <$ty>::DTYPE == usual {
                OpTest::new("sum").attribute("axis", vec![1]).input(&x).expect(&expected);
            }
        })*};
    }
    to!(i8, i16, i32, i64, u8, u16, u32, u64);
}

#[test]
fn sum_of_integers_is_of_64_bits_unless_a_dtype_is_given() {
    check_sums(&numbers(300, |x| x), i128::from, DType::I64);
    check_sums(
        &numbers(300, |x| i16::from(x) * 250),
        i128::from,
        DType::I64,
    );
    check_sums(
        &numbers(300, |x| i32::from(x) << 24),
        i128::from,
        DType::I64,
    );
    check_sums(
        &numbers(300, |x| i64::from(x) << 56),
        i128::from,
        DType::I64,
    );
    check_sums(&numbers(300, |x| x as u8), i128::from, DType::U64);
    check_sums(&numbers(300, |x| x as u16), i128::from, DType::U64);
    check_sums(&numbers(300, |x| x as u32), i128::from, DType::U64);
    check_sums(&numbers(300, |x| x as u64), i128::from, DType::U64);
    // Lanes must not overflow.
    for len in [100, 30_000] {
        check_sums(&vec![i8::MIN; len], i128::from, DType::I64);
        check_sums(&vec![u8::MAX; len], i128::from, DType::U64);
        check_sums(&vec![u16::MAX; len], i128::from, DType::U64);
    }
    for (len, axes) in [(300_000, None), (300_000, Some([0]))] {
        let x = Tensor::from_vec(vec![i16::MIN; len], &[len]).unwrap();
        let sum = ops::sum(&x, axes.as_ref().map(|axes| &axes[..]), false).unwrap();
        assert_eq!(
            sum.to_vec::<i64>().unwrap(),
            [len as i64 * i64::from(i16::MIN)]
        );
    }
}

#[test]
fn sum_of_floats_has_their_dtype_unless_one_is_given() {
    let x = Tensor::from([f16::from_f32(60_000.0), f16::from_f32(60_000.0)]);
    let sum = |x: &Tensor, dtype| ops::sum_to(x, None, false, dtype).unwrap();
    assert_eq!(
        ops::sum(&x, None, false).unwrap().to_vec::<f16>().unwrap(),
        [f16::INFINITY]
    );
    assert_eq!(sum(&x, DType::F32).to_vec::<f32>().unwrap(), [120_000.0]);
    let x = Tensor::from([1.0_f32, 1e-9, 1e-9]);
    assert_eq!(
        ops::sum(&x, None, false).unwrap().to_vec::<f32>().unwrap(),
        [1.0]
    );
    let wide = sum(&x, DType::F64).to_vec::<f64>().unwrap()[0];
    assert!((wide - (1.0 + 2e-9)).abs() < 1e-15, "{wide:e}");
    let error = ops::sum_to(&x, None, false, DType::I32).unwrap_err();
    assert!(
        error.to_string().starts_with("sum: no kernel for"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn argmax_of_random_layouts_equals_the_oracle(
        shape in prop::collection::vec(1_usize..5, 1..5),
        seed in any::<usize>(),
        axis in 0_usize..5,
        few in 1_i8..5,
    ) {
        let len: usize = shape.iter().product();
        let number = |at: usize| ((at + seed % 97).wrapping_mul(37) % 101) as i8 % few;
        let x = Tensor::from_vec((0..len).map(number).collect::<Vec<i8>>(), &shape).unwrap();
        let mut order: Vec<usize> = (0..shape.len()).collect();
        order.rotate_left(seed % shape.len());
        let x = x.permute(&order).unwrap();
        let (all, shape) = (x.to_vec::<i8>().unwrap(), x.shape().to_vec());
        let every: Vec<usize> = (0..shape.len()).collect();
        let (axis, axes) = match axis {
            axis if axis < shape.len() => (Some(axis as i64), vec![axis]),
            _ => (None, every),
        };
        let (_, groups) = groups(&shape, &axes);
        let best = groups.iter().map(|group| first_best(&all, group, |a, b| a > b));
        let found = ops::argmax(&x, axis, false).unwrap();
        prop_assert_eq!(found.to_vec::<i64>().unwrap(), best.collect::<Vec<_>>());
    }
}
