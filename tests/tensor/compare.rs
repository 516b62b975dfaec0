//! When tensors are equal, and when close.

use dlbridge::error::Error;
use dlbridge::{DType, Storage, Tensor};
use num_complex::Complex;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn equal(left: &Tensor, right: &Tensor) -> bool {
    let answer = left.equals(right).unwrap();
    assert_eq!(right.equals(left).unwrap(), answer, "equality has no sides");
    answer
}

#[test]
fn equal_tensors_have_equal_shapes_types_and_elements() {
    let matrix = Tensor::from([[1, 2], [3, 4]]);
    assert!(equal(&matrix, &matrix));
    assert!(equal(&matrix, &Tensor::from([[1, 2], [3, 4]])));
    assert!(!equal(&matrix, &Tensor::from([[1, 2], [3, 5]])));
    assert!(!equal(&matrix, &Tensor::from([1, 2, 3, 4])));
    assert!(!equal(&matrix, &matrix.unsqueeze(0).unwrap()));
    assert!(!equal(&matrix, &Tensor::from([[1_i64, 2], [3, 4]])));
    assert!(!equal(&matrix, &matrix.bit_cast(DType::U32).unwrap()));
    // How the elements lie in memory makes no difference.
    let columns = Tensor::from([[1, 3], [2, 4]]).transpose();
    assert!(equal(&matrix, &columns));
    let repeated = Tensor::scalar(7_u8).broadcast_to(&[3]).unwrap();
    assert!(equal(&repeated, &Tensor::full(&[3], 7_u8).unwrap()));
    let empty = |shape: &[usize]| Tensor::zeros(shape, DType::F32).unwrap();
    assert!(equal(&empty(&[0, 3]), &empty(&[0, 3])));
    assert!(!equal(&empty(&[0, 3]), &empty(&[3, 0])));
    assert!(!equal(
        &empty(&[0]),
        &Tensor::zeros(&[0], DType::F64).unwrap()
    ));
}

#[test]
fn numbers_are_compared_rather_than_bits() {
    let nan = Tensor::from([1.0, NAN]);
    assert!(!equal(&nan, &nan));
    assert!(equal(&Tensor::from([0.0_f32]), &Tensor::from([-0.0_f32])));
    assert!(equal(
        &Tensor::from([INF, -INF]),
        &Tensor::from([INF, -INF])
    ));
    assert!(!equal(&Tensor::from([INF]), &Tensor::from([-INF])));
    let complex = |re, im| Tensor::scalar(Complex::<f64>::new(re, im));
    assert!(equal(&complex(1.0, INF), &complex(1.0, INF)));
    assert!(!equal(&complex(1.0, 2.0), &complex(1.0, -2.0)));
    assert!(!equal(&complex(1.0, NAN), &complex(1.0, NAN)));
    // Every byte but 0 is true.
    let bools = |bytes: [u8; 2]| Tensor::from(bytes).bit_cast(DType::BOOL).unwrap();
    assert!(equal(&bools([1, 0]), &bools([255, 0])));
    // Integers are compared whole: a `f64` couldn't tell these apart.
    let large = |number: u64| Tensor::scalar(number);
    assert!(!equal(&large(u64::MAX), &large(u64::MAX - 1)));
}

#[test]
fn every_lane_is_compared() {
    let dtype = DType::F32.with_lanes(2).unwrap();
    let pairs = |numbers: [f32; 4]| {
        Tensor::from_storage(Storage::from_vec(numbers.to_vec()), &[2], dtype).unwrap()
    };
    assert!(equal(
        &pairs([1.0, 2.0, 3.0, 4.0]),
        &pairs([1.0, 2.0, 3.0, 4.0])
    ));
    assert!(!equal(
        &pairs([1.0, 2.0, 3.0, 4.0]),
        &pairs([1.0, 2.0, 3.0, 5.0])
    ));
    let near = pairs([1.0, 2.0, 3.0, 4.5]);
    assert!(
        near.all_close(&pairs([1.0, 2.0, 3.0, 4.0]), 0.0, 0.5)
            .unwrap()
    );
    assert!(
        !near
            .all_close(&pairs([1.0, 2.0, 3.0, 4.0]), 0.0, 0.4)
            .unwrap()
    );
}

/// Whether two numbers are close.
fn close(left: f64, right: f64, rtol: f64, atol: f64) -> bool {
    Tensor::from([left])
        .all_close(&Tensor::from([right]), rtol, atol)
        .unwrap()
}

#[test]
fn difference_equal_to_the_tolerance_is_close() {
    assert!(close(1.5, 1.0, 0.0, 0.5) && !close(1.5, 1.0, 0.0, 0.4999));
    assert!(close(0.5, 1.0, 0.0, 0.5) && !close(0.4999, 1.0, 0.0, 0.5));
    assert!(close(3.0, 2.0, 0.5, 0.0) && !close(3.1, 2.0, 0.5, 0.0));
    // Both add up.
    assert!(close(3.5, 2.0, 0.5, 0.5) && !close(3.6, 2.0, 0.5, 0.5));
    // Relative to the other's element, whatever its sign.
    assert!(close(2.0, 4.0, 0.5, 0.0) && !close(4.0, 2.0, 0.5, 0.0));
    assert!(close(-2.0, -4.0, 0.5, 0.0) && !close(2.0, -4.0, 0.5, 0.0));
    assert!(close(1.0, 1.0, 0.0, 0.0) && !close(1.0, 1.0 + f64::EPSILON, 0.0, 0.0));
}

#[test]
fn infinities_are_close_to_themselves_alone() {
    assert!(close(INF, INF, 0.0, 0.0) && close(-INF, -INF, 1e-5, 1e-8));
    for (rtol, atol) in [(0.0, 0.0), (1e-5, 1e-8), (0.0, 1e300), (1.0, 0.0)] {
        for (left, right) in [
            (INF, -INF),
            (-INF, INF),
            (1.0, INF),
            (INF, 1.0),
            (-1.0, -INF),
        ] {
            assert!(
                !close(left, right, rtol, atol),
                "{left} and {right} with {rtol}, {atol}"
            );
        }
    }
}

#[test]
fn nan_is_not_close_to_anything() {
    for (left, right) in [(NAN, NAN), (NAN, 1.0), (1.0, NAN), (NAN, INF), (INF, NAN)] {
        assert!(!close(left, right, 1e-5, 1e300), "{left} and {right}");
    }
    let complex = |re, im| Tensor::scalar(Complex::<f64>::new(re, im));
    let half_nan = complex(NAN, INF);
    assert!(!half_nan.all_close(&complex(0.0, 1.0), 1.0, 1.0).unwrap());
    assert!(!complex(0.0, 1.0).all_close(&half_nan, 1.0, 1.0).unwrap());
}

#[test]
fn complex_numbers_are_as_far_apart_as_in_the_plane() {
    let complex = |re, im| Tensor::scalar(Complex::<f64>::new(re, im));
    let (a, b) = (complex(1.0, 1.0), complex(4.0, 5.0));
    assert!(a.all_close(&b, 0.0, 5.01).unwrap() && !a.all_close(&b, 0.0, 4.99).unwrap());
    let real = Tensor::scalar(1.0_f32);
    assert!(complex(1.0, 0.0).all_close(&real, 0.0, 0.0).unwrap());
    assert!(!complex(1.0, 1e-3).all_close(&real, 0.0, 0.0).unwrap());
}

#[test]
fn all_close_ignores_the_dtype() {
    let floats = Tensor::from([1.0_f32, 0.0]);
    for other in [
        Tensor::from([1.0_f64, 0.0]),
        Tensor::from([1_u8, 0]),
        Tensor::from([true, false]),
        Tensor::from_storage(Storage::from_vec(vec![0x01_u8]), &[2], DType::I4).unwrap(),
    ] {
        assert!(floats.all_close(&other, 0.0, 0.0).unwrap());
        assert!(other.all_close(&floats, 0.0, 0.0).unwrap());
        assert!(!floats.equals(&other).unwrap());
    }
    let empty = Tensor::zeros(&[0], DType::F32).unwrap();
    assert!(empty.all_close(&empty, 0.0, 0.0).unwrap());
}

#[test]
fn all_close_requires_equal_shape_and_lanes() {
    let (row, column) = (Tensor::from([[1, 2]]), Tensor::from([[1], [2]]));
    assert_eq!(
        row.all_close(&column, 1.0, 1.0),
        Err(Error::ShapeMismatch {
            left: vec![1, 2],
            right: vec![2, 1]
        })
    );
    let pairs = Tensor::zeros(&[2], DType::F32.with_lanes(2).unwrap()).unwrap();
    let single = Tensor::zeros(&[2], DType::F32).unwrap();
    assert!(matches!(
        pairs.all_close(&single, 1.0, 1.0),
        Err(Error::DTypeMismatch { .. })
    ));
}
