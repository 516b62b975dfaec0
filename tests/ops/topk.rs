//! `topk`: examples, errors, and a comparison with a sort.

use crate::cases::cases;
use dlbridge::kernel::Registry;
use dlbridge::testing::OpTest;
use dlbridge::{Element, Tensor, ops};
use half::{bf16, f16};
use proptest::prelude::*;
use std::cmp::Ordering;

/// The order of elements, of which NaN is the largest.
fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
    let (a_is_nan, b_is_nan) = (a != a, b != b);
    a.partial_cmp(b).unwrap_or(a_is_nan.cmp(&b_is_nan))
}

/// Values and indices of the `k` best elements of each line, by a stable sort.
fn oracle<T: Element + PartialOrd>(
    x: &[T],
    (shape, axis): (&[usize], usize),
    k: usize,
    largest: bool,
) -> (Tensor, Tensor) {
    let inner: usize = shape[axis + 1..].iter().product();
    let size = shape[axis];
    let mut result_shape = shape.to_vec();
    result_shape[axis] = k;
    let len = result_shape.iter().product();
    let (mut values, mut indices) = (vec![None; len], vec![0; len]);
    let lines = x.len().checked_div(size).unwrap_or(0);
    for line in 0..lines {
        let (o, i) = (line / inner, line % inner);
        let mut places: Vec<usize> = (0..size).collect();
        let element = |at: usize| x[(o * size + at) * inner + i];
        places.sort_by(|a, b| {
            let order = order(&element(*a), &element(*b));
            if largest { order.reverse() } else { order }
        });
        for (rank, at) in places[..k].iter().enumerate() {
            let to = (o * k + rank) * inner + i;
            (values[to], indices[to]) = (Some(element(*at)), *at as i64);
        }
    }
    let values: Vec<T> = values.into_iter().map(Option::unwrap).collect();
    let values = Tensor::from_vec(values, &result_shape).unwrap();
    (values, Tensor::from_vec(indices, &result_shape).unwrap())
}

fn check<T: Element + PartialOrd>(x: &[T], shape: &[usize], axis: usize, k: usize) {
    for largest in [true, false] {
        let (values, indices) = oracle(x, (shape, axis), k, largest);
        let test = OpTest::new("topk")
            .attribute("k", k as i64)
            .attribute("axis", axis as i64);
        let test = test.attribute("largest", largest);
        let test = test.input(&Tensor::from_slice(x, shape).unwrap());
        test.expect_all(&[&values, &indices]);
    }
}

/// Numbers that aren't in order, with duplicates.
fn numbers<T>(len: usize, number: impl Fn(i8) -> T) -> Vec<T> {
    (0..len)
        .map(|at| number((at.wrapping_mul(89) % 251) as u8 as i8))
        .collect()
}

#[test]
fn topk_equals_a_sort() {
    for (shape, axis) in [
        (&[3, 7][..], 1),
        (&[7, 3], 0),
        (&[2, 5, 3], 1),
        (&[20], 0),
        (&[1], 0),
        (&[0, 4], 1),
        (&[4, 0], 1),
    ] {
        let len = shape.iter().product();
        let size = shape[axis];
        for k in [0, 1.min(size), size / 2, size] {
            check(&numbers(len, f32::from), shape, axis, k);
            check(&numbers(len, f16::from), shape, axis, k);
            check(&numbers(len, |x| x), shape, axis, k);
            check(&numbers(len, |x| x as u64), shape, axis, k);
        }
    }
}

#[test]
fn topk_of_every_type_equals_a_sort() {
    let shape = [2, 600];
    for k in [1, 5, 290, 600] {
        check(&numbers(1200, f64::from), &shape, 1, k);
        check(&numbers(1200, bf16::from), &shape, 1, k);
        check(&numbers(1200, |x| i16::from(x) * 200), &shape, 1, k);
        check(&numbers(1200, |x| i32::from(x) << 24), &shape, 1, k);
        check(&numbers(1200, |x| i64::from(x) << 56), &shape, 1, k);
        check(&numbers(1200, |x| x as u8), &shape, 1, k);
        check(&numbers(1200, |x| x as u16), &shape, 1, k);
        check(&numbers(1200, |x| x as u32), &shape, 1, k);
    }
}

#[test]
fn topk_of_many_and_of_long_lines_equals_a_sort() {
    check(&numbers(40_000, f32::from), &[400, 100], 1, 3);
    check(&numbers(40_000, f32::from), &[100, 400], 0, 7);
    let rising: Vec<i32> = (0..20_000).collect();
    check(&rising, &[20_000], 0, 10);
    let falling: Vec<i32> = (0..20_000).rev().collect();
    check(&falling, &[20_000], 0, 1000);
    check(&vec![1_u8; 20_000], &[20_000], 0, 300);
}

#[test]
fn topk_ranks_nan_infinities_and_zeros() {
    let nan = f32::NAN;
    let x = [
        0.0,
        nan,
        f32::INFINITY,
        -0.0,
        f32::NEG_INFINITY,
        -nan,
        1.0,
        1e-45,
        -1e-45,
    ];
    let largest = [1, 5, 2, 6, 7, 0, 3, 8, 4];
    let smallest = [4, 8, 0, 3, 7, 6, 2, 1, 5];
    let (values, indices) = ops::topk(&Tensor::from(x), 9, 0).unwrap();
    assert_eq!(indices.to_vec::<i64>().unwrap(), largest);
    let bits: Vec<u32> = values
        .to_vec::<f32>()
        .unwrap()
        .into_iter()
        .map(f32::to_bits)
        .collect();
    assert_eq!(bits, largest.map(|at| x[at as usize].to_bits()));
    for short in [false, true] {
        let x: Vec<f16> = x.into_iter().map(f16::from_f32).collect();
        // There, the small ones are zeros.
        let (k, expected) = if short {
            (1, &[4][..])
        } else {
            (6, &[4, 0, 3, 7, 8, 6][..])
        };
        let topk = Registry::global().op("topk").unwrap();
        let x = Tensor::from_slice(&x, &[9]).unwrap();
        let call = topk
            .call()
            .input(&x)
            .attribute("k", k)
            .attribute("largest", false);
        let results = call.run().unwrap();
        assert_eq!(results[1].to_vec::<i64>().unwrap(), expected);
    }
    let topk = Registry::global().op("topk").unwrap();
    let x = Tensor::from(x);
    let call = topk
        .call()
        .input(&x)
        .attribute("k", 9)
        .attribute("largest", false);
    assert_eq!(call.run().unwrap()[1].to_vec::<i64>().unwrap(), smallest);
}

#[test]
fn topk_without_order_has_the_same_elements() {
    let x = numbers(1000, f32::from);
    let (_, expected) = oracle(&x, (&[1000], 0), 300, true);
    let mut expected = expected.to_vec::<i64>().unwrap();
    let topk = Registry::global().op("topk").unwrap();
    let tensor = Tensor::from_slice(&x, &[1000]).unwrap();
    let call = topk
        .call()
        .input(&tensor)
        .attribute("k", 300)
        .attribute("sorted", false);
    let results = call.run().unwrap();
    let mut indices = results[1].to_vec::<i64>().unwrap();
    let values = results[0].to_vec::<f32>().unwrap();
    assert!(
        values
            .iter()
            .zip(&indices)
            .all(|(value, at)| *value == x[*at as usize])
    );
    indices.sort_unstable();
    expected.sort_unstable();
    assert_eq!(indices, expected);
}

#[test]
fn topk_rejects_other_numbers_of_elements_and_axes() {
    let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    let message = |result: Result<_, dlbridge::kernel::CallError>| -> String {
        let result: Result<(Tensor, Tensor), _> = result;
        result.unwrap_err().to_string()
    };
    assert_eq!(
        message(ops::topk(&x, 4, -1)),
        "topk: k is 4, and axis 1 has size 3"
    );
    assert_eq!(
        message(ops::topk(&x, 1, 2)),
        "topk: axis 2 is out of bounds for a tensor of rank 2"
    );
    assert_eq!(
        message(ops::topk(&Tensor::scalar(1_i32), 1, -1)),
        "topk: axis -1 is out of bounds for a tensor of rank 0"
    );
    let topk = Registry::global().op("topk").unwrap();
    let error = topk.call().input(&x).attribute("k", -1).run().unwrap_err();
    assert_eq!(error.to_string(), "topk: k can't be -1");
    assert!(ops::topk(&Tensor::from([true]), 1, 0).is_err());
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn topk_of_bits_equals_a_sort(bits in prop::collection::vec(any::<u16>(), 1..400), part in 0.0..=1.0) {
        let k = (bits.len() as f64 * part) as usize;
        let x: Vec<f16> = bits.into_iter().map(f16::from_bits).collect();
        let (_, expected) = oracle(&x, (&[x.len()], 0), k, true);
        let (_, indices) = ops::topk(&Tensor::from_slice(&x, &[x.len()]).unwrap(), k, 0).unwrap();
        prop_assert_eq!(indices.to_vec::<i64>().unwrap(), expected.to_vec::<i64>().unwrap());
    }
}
