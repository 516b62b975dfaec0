//! `concat`: examples, errors, and a comparison with an oracle by index.

use dlbridge::error::IncompatibilityKind;
use dlbridge::kernel::Reason;
use dlbridge::testing::OpTest;
use dlbridge::{DType, Element, Tensor, ops};

/// Tensors of these sizes along an axis, and the same one after another.
fn joined<T: Element>(
    (shape, axis): (&[usize], usize),
    sizes: &[usize],
    element: impl Fn(usize) -> T,
) -> (Vec<Tensor>, Tensor) {
    let with = |size: usize| [&shape[..axis], &[size], &shape[axis + 1..]].concat();
    let rows: usize = shape[..axis].iter().product();
    let inner: usize = shape[axis + 1..].iter().product();
    let lists: Vec<Vec<T>> = sizes
        .iter()
        .enumerate()
        .map(|(at, size)| {
            (0..rows * size * inner)
                .map(|e| element(1000 * at + e))
                .collect()
        })
        .collect();
    let mut all = Vec::new();
    for row in 0..rows {
        for (list, size) in lists.iter().zip(sizes) {
            all.extend_from_slice(&list[row * size * inner..(row + 1) * size * inner]);
        }
    }
    let tensors = lists.iter().zip(sizes);
    let tensors = tensors.map(|(list, size)| Tensor::from_slice(list, &with(*size)).unwrap());
    let all = Tensor::from_vec(all, &with(sizes.iter().sum())).unwrap();
    (tensors.collect(), all)
}

fn check<T: Element>(of: (&[usize], usize), sizes: &[usize], element: impl Fn(usize) -> T) {
    let (tensors, all) = joined(of, sizes, element);
    let mut test = OpTest::new("concat").attribute("axis", of.1 as i64);
    for tensor in &tensors {
        test = test.input(tensor);
    }
    test.expect(&all);
}

#[test]
fn concat_equals_the_oracle() {
    for (shape, axis) in [
        (&[0][..], 0),
        (&[0, 3], 0),
        (&[4, 0], 1),
        (&[2, 0, 3], 1),
        (&[2, 3, 0], 2),
        (&[0, 0], 1),
        (&[40, 0], 1),
    ] {
        for sizes in [&[3][..], &[2, 5], &[0, 1, 0, 4], &[7, 0], &[0], &[20, 33]] {
            check::<u8>((shape, axis), sizes, |at| at as u8);
            check::<i16>((shape, axis), sizes, |at| at as i16);
            check::<f32>((shape, axis), sizes, |at| at as f32);
            check::<f64>((shape, axis), sizes, |at| at as f64);
        }
    }
    check::<bool>((&[3, 0], 1), &[2, 3], |at| at % 3 == 0);
}

#[test]
fn large_concat_equals_the_oracle() {
    check::<f32>((&[0, 317], 0), &[40, 100, 1], |at| at as f32);
    check::<f32>((&[131, 0], 1), &[150, 201, 7], |at| at as f32);
    check::<u8>((&[60, 0, 11], 1), &[40, 3, 100], |at| at as u8);
    check::<i64>((&[20_000, 0], 1), &[1, 2, 1], |at| at as i64);
}

#[test]
fn concat_takes_every_dtype_of_whole_bytes() {
    for dtype in DType::ALL
        .iter()
        .filter(|dtype| dtype.item_bytes().is_some())
    {
        let bytes = dtype.item_bytes().unwrap();
        let zeros = Tensor::zeros(&[2, 3], *dtype);
        let x = zeros.unwrap_or_else(|_| Tensor::ones(&[2, 3], *dtype).unwrap());
        let joined = ops::concat([&x, &x, &x], -1).unwrap();
        assert_eq!((joined.shape(), joined.dtype()), (&[2, 9][..], *dtype));
        assert_eq!(joined.nbytes(), 18 * bytes);
    }
    let packed = ops::cast(&Tensor::from([1_i8, 2]), DType::I4).unwrap();
    let error = ops::concat([&packed, &packed], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "concat: elements of int4 aren't whole bytes"
    );
    assert_eq!(
        error.reason.incompatibility().kind,
        IncompatibilityKind::DType
    );
}

#[test]
fn concat_of_hundreds_of_tensors_keeps_their_order() {
    let xs: Vec<Tensor> = (0..900).map(|at| Tensor::from([[at, -at]])).collect();
    let rows = ops::concat(&xs, 0).unwrap();
    assert_eq!(rows.shape(), [900, 2]);
    let list = rows.to_vec::<i32>().unwrap();
    assert!(
        list.iter()
            .enumerate()
            .all(|(at, x)| *x == [1, -1][at % 2] * (at / 2) as i32)
    );
    let columns = ops::concat(&xs, 1).unwrap();
    assert_eq!(
        (columns.shape(), columns.to_vec::<i32>().unwrap()),
        (&[1, 1800][..], list)
    );
    // Views of other layouts among them.
    let turned = xs[3].permute(&[1, 0]).unwrap();
    let turned = ops::concat([&turned, &xs[4].permute(&[1, 0]).unwrap()], 1).unwrap();
    assert_eq!(turned.to_vec::<i32>().unwrap(), [3, 4, -3, -4]);
}

#[test]
fn concat_refuses_what_does_not_fit() {
    let (a, b) = (Tensor::from([[1_i32, 2]]), Tensor::from([[1_i32, 2, 3]]));
    let error = ops::concat([&a, &a, &b], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "concat: xs[2] has shape [1, 3], and xs[0] [1, 2]; sizes may differ along axis 0 only"
    );
    let fields = error.reason.incompatibility();
    assert_eq!(fields.kind, IncompatibilityKind::Shape);
    assert_eq!(
        (fields.found.as_deref(), fields.wanted.as_deref()),
        (Some("[1, 3]"), Some("[_, 2]"))
    );
    assert!(matches!(*error.reason, Reason::Incompatible { argument, .. } if argument == "xs[2]"));
    assert_eq!(ops::concat([&a, &b], 1).unwrap().shape(), [1, 5]);
    let error = ops::concat([&Tensor::scalar(1), &Tensor::scalar(2)], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "concat: axis 0 is out of bounds for a tensor of rank 0"
    );
    let error = ops::concat([&a, &Tensor::from([1_i32])], 0).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("concat: xs[1] has shape [1], and xs[0] [1, 2]"),
        "{error}"
    );
    let error = ops::concat([&a, &Tensor::from([[1_i64, 2]])], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "concat: argument \"xs[0]\" has elements of int32, and \"xs[1]\" has int64; cast \"xs[0]\" to int64"
    );
    let none: [&Tensor; 0] = [];
    let error = ops::concat(none, 0).unwrap_err();
    assert_eq!(error.to_string(), "concat: argument \"xs\" is missing");
}
