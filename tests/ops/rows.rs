//! `take` and `index_add`: examples, errors, and a comparison with naive oracles.

use crate::cases::cases;
use dlbridge::testing::OpTest;
use dlbridge::{DType, Element, Storage, Tensor, ops};
use half::{bf16, f16};
use proptest::prelude::*;

/// Sizes before an axis, along it, and after it.
fn parts(shape: &[usize], axis: usize) -> [usize; 3] {
    let product = |sizes: &[usize]| sizes.iter().product();
    [
        product(&shape[..axis]),
        shape[axis],
        product(&shape[axis + 1..]),
    ]
}

fn position(index: i64, size: usize) -> usize {
    usize::try_from(if index < 0 {
        index + size as i64
    } else {
        index
    })
    .unwrap()
}

/// Calls a function with the place of each element in row-major order, in a tensor with indices
/// and in one with a list of them.
fn each(shape: &[usize], axis: usize, indices: &[i64], mut visit: impl FnMut(usize, usize)) {
    let [outer, size, inner] = parts(shape, axis);
    for o in 0..outer {
        for (at, index) in indices.iter().enumerate() {
            for i in 0..inner {
                let indexed = (o * size + position(*index, size)) * inner + i;
                visit(indexed, (o * indices.len() + at) * inner + i);
            }
        }
    }
}

/// The shape of the list's rows.
fn listed(shape: &[usize], axis: usize, indices: &[usize]) -> Vec<usize> {
    [&shape[..axis], indices, &shape[axis + 1..]].concat()
}

fn tensor<T: Element>(elements: &[T], shape: &[usize]) -> Tensor {
    Tensor::from_slice(elements, shape).unwrap()
}

fn indices_of(dtype: DType, indices: &[i64], shape: &[usize]) -> Tensor {
    ops::cast(&tensor(indices, shape), dtype).unwrap()
}

/// Numbers that aren't in order.
fn numbers<T>(len: usize, number: impl Fn(i8) -> T) -> Vec<T> {
    (0..len)
        .map(|at| number((at.wrapping_mul(37) % 101) as i8))
        .collect()
}

/// Indices of both signs, with duplicates.
fn some_indices(len: usize, size: usize) -> Vec<i64> {
    let index = |at: usize| (at.wrapping_mul(29) % (2 * size)) as i64 - size as i64;
    (0..len).map(index).collect()
}

/// Shapes, axes, and shapes of indices.
const CASES: [(&[usize], usize, &[usize]); 12] = [
    (&[5, 3], 0, &[7]),
    (&[3, 5], 1, &[4]),
    (&[2, 4, 3], 1, &[2, 3]),
    (&[2, 4, 3], 2, &[5]),
    (&[4, 2, 3], 0, &[2, 2]),
    (&[6], 0, &[2, 2, 2]),
    (&[6], 0, &[]),
    (&[3, 4], 0, &[]),
    (&[1, 40], 0, &[1]),
    (&[3, 4], 0, &[0]),
    (&[3, 0], 0, &[2]),
    (&[0, 3], 1, &[2]),
];

fn check_take<T: Element>(x: &[T], shape: &[usize], axis: usize, of: &[usize], dtype: DType) {
    let indices = some_indices(of.iter().product(), shape[axis]);
    let mut taken = Vec::new();
    each(shape, axis, &indices, |from, to| {
        assert_eq!(taken.len(), to);
        taken.push(x[from]);
    });
    let test = OpTest::new("take").attribute("axis", axis as i64);
    let test = test
        .input(&tensor(x, shape))
        .input(&indices_of(dtype, &indices, of));
    test.expect(&tensor(&taken, &listed(shape, axis, of)));
}

#[test]
fn take_equals_the_oracle() {
    for (shape, axis, of) in CASES {
        let len = shape.iter().product();
        check_take(&numbers(len, f32::from), shape, axis, of, DType::I64);
        check_take(&numbers(len, f16::from), shape, axis, of, DType::I32);
        check_take(&numbers(len, |x| x), shape, axis, of, DType::I64);
        check_take(&numbers(len, |x| x > 40), shape, axis, of, DType::I64);
        check_take(&numbers(len, f64::from), shape, axis, of, DType::I32);
    }
}

#[test]
fn take_of_large_tensors_equals_the_oracle() {
    for (shape, axis, of) in [
        (&[300, 67][..], 0, &[1000][..]),
        (&[70, 300], 1, &[1000]),
        (&[50_000], 0, &[150_000]),
        (&[20, 50, 40], 1, &[30, 7]),
    ] {
        check_take(
            &numbers(shape.iter().product(), f32::from),
            shape,
            axis,
            of,
            DType::I64,
        );
        check_take(
            &numbers(shape.iter().product(), bf16::from),
            shape,
            axis,
            of,
            DType::I32,
        );
    }
}

/// The same bytes at an aligned address, and room for a few more.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

#[test]
fn take_takes_elements_of_any_size() {
    for name in ["float32x3", "complex128", "float64x4", "uint8x3"] {
        let dtype: DType = name.parse().unwrap();
        let item = dtype.item_bytes().unwrap();
        let rows = |places: &[usize]| {
            let bytes = |at: usize| (0..3 * item).map(move |byte| (at * 31 + byte) as u8);
            let bytes: Vec<u8> = places.iter().copied().flat_map(bytes).collect();
            Tensor::from_storage(Storage::from_vec(words(&bytes)), &[places.len(), 3], dtype)
                .unwrap()
        };
        let test = OpTest::new("take").input(&rows(&[0, 1, 2, 3]));
        test.input(&Tensor::from([3_i64, -4, 2]))
            .expect(&rows(&[3, 0, 2]));
    }
}

fn check_add<T: Element>(
    of_i8: impl Fn(i8) -> T,
    (shape, axis, of): (&[usize], usize, &[usize]),
    dtype: DType,
    add: impl Fn(T, T) -> T,
) {
    let indices = some_indices(of.iter().product(), shape[axis]);
    let source_shape = listed(shape, axis, of);
    let x = numbers(shape.iter().product(), &of_i8);
    let mut source = numbers(source_shape.iter().product(), &of_i8);
    source.reverse();
    let mut sums = x.clone();
    each(shape, axis, &indices, |to, from| {
        sums[to] = add(sums[to], source[from])
    });
    let test = OpTest::new("index_add").attribute("axis", axis as i64);
    let test = test
        .input(&tensor(&x, shape))
        .input(&indices_of(dtype, &indices, of));
    test.input(&tensor(&source, &source_shape))
        .expect(&tensor(&sums, shape));
}

#[test]
fn index_add_equals_the_oracle() {
    for case in CASES {
        check_add(|x| f32::from(x) / 3.0, case, DType::I64, |a, b| a + b);
        check_add(|x| f64::from(x) / 3.0, case, DType::I32, |a, b| a + b);
        check_add(
            |x| f16::from_f32(f32::from(x) / 3.0),
            case,
            DType::I64,
            |a, b| a + b,
        );
        check_add(
            |x| bf16::from_f32(f32::from(x) / 3.0),
            case,
            DType::I32,
            |a, b| a + b,
        );
        check_add(|x| x, case, DType::I64, i8::wrapping_add);
        check_add(|x| x as u64, case, DType::I32, u64::wrapping_add);
    }
}

#[test]
fn index_add_to_large_tensors_equals_the_oracle() {
    for case in [
        (&[300, 67][..], 0, &[1000][..]),
        (&[70, 300], 1, &[700]),
        (&[50_000], 0, &[70_000]),
        (&[20, 50, 40], 1, &[30, 7]),
    ] {
        check_add(|x| f32::from(x) / 3.0, case, DType::I64, |a, b| a + b);
        check_add(i32::from, case, DType::I32, i32::wrapping_add);
    }
}

#[test]
fn take_rejects_indices_out_of_bounds() {
    let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    for (index, axis, size) in [
        (3, 0, 3),
        (-4, 0, 3),
        (2, 1, 2),
        (i64::MAX, 0, 3),
        (i64::MIN, 1, 2),
    ] {
        let indices = Tensor::from([[0, 1], [index, i64::MIN]]);
        let error = ops::take(&x, &indices, axis).unwrap_err();
        let expected = format!(
            "take: index {index}, which is indices[1, 0], is out of bounds for axis {axis} with size {size}"
        );
        assert_eq!(error.to_string(), expected);
    }
    let error = ops::take(&x, &Tensor::scalar(7_i32), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "take: index 7, which is indices[], is out of bounds for axis 0 with size 3"
    );
    for shape in [[0, 3], [0, 0]] {
        let none = Tensor::zeros(&shape, DType::F32).unwrap();
        assert!(ops::take(&none, &Tensor::from([0_i64]), 0).is_err());
    }
    let error = ops::take(&Tensor::scalar(1.0_f32), &Tensor::from([0_i64]), 0).unwrap_err();
    let expected = "take: axis 0 is out of bounds for a tensor of rank 0";
    assert_eq!(error.to_string(), expected);
    let packed = ops::cast(&x, DType::I4).unwrap();
    let error = ops::take(&packed, &Tensor::from([0_i64]), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "take: elements of int4 aren't whole bytes"
    );
    assert!(ops::take(&x, &Tensor::from([0.0_f32]), 0).is_err());
}

#[test]
fn index_out_of_bounds_far_back_leaves_everything_as_it_was() {
    let mut indices = vec![1_i64; 300_000];
    indices[299_999] = 9;
    let (list, ones) = (
        Tensor::from_vec(indices, &[300_000]).unwrap(),
        vec![1_i32; 300_000],
    );
    let mut x = Tensor::from([5_i32, 6, 7]);
    let source = Tensor::from_vec(ones, &[300_000]).unwrap();
    let error = ops::index_add(&mut x, &list, &source, -1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "index_add: index 9, which is indices[299999], is out of bounds for axis 0 with size 3"
    );
    assert_eq!(x.to_vec::<i32>().unwrap(), [5, 6, 7]);
}

#[test]
fn index_add_rejects_a_source_of_another_shape() {
    let mut x = Tensor::zeros(&[3, 4], DType::F32).unwrap();
    let source = Tensor::zeros(&[2, 3], DType::F32).unwrap();
    let error = ops::index_add(&mut x, &Tensor::from([0_i64, 1]), &source, 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "index_add: expected source of shape [2, 4], that of x with the indices' in place of the axis, got [2, 3]"
    );
}

#[test]
fn index_add_takes_a_repeated_source() {
    let mut x = Tensor::from([[1_i32, 2], [3, 4]]);
    let row = Tensor::from([[10_i32, 20]]);
    let source = row.broadcast_to(&[3, 2]).unwrap();
    ops::index_add(&mut x, &Tensor::from([1_i32, 1, -2]), &source, 0).unwrap();
    assert_eq!(x.to_vec::<i32>().unwrap(), [11, 22, 23, 44]);
}

/// A shape, an axis of it, and indices within that.
fn case() -> impl Strategy<Value = (Vec<usize>, usize, Vec<i64>)> {
    let shape = prop::collection::vec(1..6_usize, 1..4);
    let with_axis = shape.prop_flat_map(|shape| (0..shape.len(), Just(shape)));
    with_axis.prop_flat_map(|(axis, shape)| {
        let size = shape[axis] as i64;
        (
            Just(shape),
            Just(axis),
            prop::collection::vec(-size..size, 0..9),
        )
    })
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn rows_equal_the_oracle((shape, axis, indices) in case()) {
        let from_end = axis as i64 - shape.len() as i64;
        let x = numbers(shape.iter().product(), i32::from);
        let list = Tensor::from_slice(&indices, &[indices.len()]).unwrap();
        let mut taken = Vec::new();
        each(&shape, axis, &indices, |from, _| taken.push(x[from]));
        let rows = ops::take(&tensor(&x, &shape), &list, from_end).unwrap();
        prop_assert_eq!(rows.shape(), &listed(&shape, axis, &[indices.len()])[..]);
        prop_assert_eq!(rows.to_vec::<i32>().unwrap(), taken);
        let mut sums = x.clone();
        let source = rows.to_vec::<i32>().unwrap();
        each(&shape, axis, &indices, |to, from| sums[to] += source[from]);
        let mut added = tensor(&x, &shape);
        ops::index_add(&mut added, &list, &rows, from_end).unwrap();
        prop_assert_eq!(added.to_vec::<i32>().unwrap(), sums);
    }
}
