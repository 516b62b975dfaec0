//! Results and errors of each op.

use dlbridge::kernel::Reason;
use dlbridge::{DType, Storage, Tensor, ops};
use half::f16;

#[test]
fn sums_are_broadcast() {
    let a = Tensor::from([[1.0_f32], [2.0]]);
    let b = Tensor::from([10.0_f32, 20.0, 30.0]);
    let sum = ops::add(&a, &b).unwrap();
    assert_eq!(
        sum.to_vec::<f32>().unwrap(),
        [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]
    );
}

#[test]
fn axpy_is_in_place() {
    let mut y = Tensor::from([1.0_f64, 2.0]);
    ops::axpy(3.0, &Tensor::from([10.0_f64, 20.0]), &mut y).unwrap();
    assert_eq!(y.to_vec::<f64>().unwrap(), [31.0, 62.0]);
    let error = ops::axpy(3.0_f32, &Tensor::from([1.0_f64, 2.0]), &mut y).unwrap_err();
    assert_eq!(
        error.to_string(),
        "axpy: argument \"alpha\" has elements of float32, and \"x\" has float64; cast \"alpha\" to float64"
    );
}

#[test]
fn axpy_of_many_elements_is_in_place() {
    // More than pass through scratch memory at once, side by side and not.
    for step in [1, 2, -1] {
        let numbers: Vec<f32> = (0..6001).map(|at| (at % 7) as f32).collect();
        let whole = Tensor::from_vec(numbers, &[6001]);
        let mut y = whole.and_then(|whole| whole.step_by(0, step)).unwrap();
        let before = y.to_vec::<f32>().unwrap();
        let x: Vec<f32> = (0..before.len()).map(|at| at as f32).collect();
        let expected: Vec<f32> = before.iter().zip(&x).map(|(y, x)| 2.0 * x + y).collect();
        ops::axpy(2.0_f32, &Tensor::from(x), &mut y).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), expected, "step {step}");
    }
}

#[test]
fn sums_go_along_axes() {
    let x = Tensor::from([[1_i32, 2, 3], [4, 5, 6]]);
    let sum = |axes: Option<&[i64]>, keeps| {
        let sum = ops::sum(&x, axes, keeps).unwrap();
        (sum.shape().to_vec(), sum.to_vec::<i64>().unwrap())
    };
    assert_eq!(sum(None, false), (vec![], vec![21]));
    assert_eq!(sum(Some(&[0]), false), (vec![3], vec![5, 7, 9]));
    assert_eq!(sum(Some(&[-1]), true), (vec![2, 1], vec![6, 15]));
    assert_eq!(sum(Some(&[]), false), (vec![2, 3], vec![1, 2, 3, 4, 5, 6]));
    let error = ops::sum(&x, Some(&[2]), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sum: axis 2 is out of bounds for a tensor of rank 2"
    );
}

#[test]
fn integers_wrap_around() {
    let (low, high) = (Tensor::from([i8::MIN]), Tensor::from([i8::MAX]));
    let number = |made: Result<Tensor, _>| made.unwrap().item::<i8>().unwrap();
    assert_eq!(number(ops::add(&high, &Tensor::scalar(1_i8))), i8::MIN);
    assert_eq!(number(ops::sub(&low, &Tensor::scalar(1_i8))), i8::MAX);
    assert_eq!(number(ops::mul(&high, &high)), 1);
    assert_eq!(number(ops::mul(&low, &Tensor::scalar(-1_i8))), i8::MIN);
}

#[test]
fn float_division_follows_ieee_754() {
    let a = Tensor::from([1.0_f32, -1.0, 0.0, f32::INFINITY, 1.0]);
    let b = Tensor::from([0.0_f32, 0.0, 0.0, f32::INFINITY, -0.0]);
    let quotients = ops::div(&a, &b).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(format!("{quotients:?}"), "[inf, -inf, NaN, NaN, -inf]");
    // Rounded once: 1/3 of 11 bits.
    let third = ops::div(
        &Tensor::scalar(f16::ONE),
        &Tensor::scalar(f16::from_f32(3.0)),
    );
    assert_eq!(third.unwrap().item::<f16>().unwrap().to_bits(), 0x3555);
    let error = ops::div(&Tensor::from([1]), &Tensor::from([2])).unwrap_err();
    assert!(matches!(*error.reason, Reason::NoKernel { .. }));
}

#[test]
fn means_go_along_axes() {
    let x = Tensor::from([[1.0_f32, 2.0, 6.0], [4.0, 5.0, 6.0]]);
    let mean = |axes: Option<&[i64]>, keeps| {
        let mean = ops::mean(&x, axes, keeps).unwrap();
        (mean.shape().to_vec(), mean.to_vec::<f32>().unwrap())
    };
    assert_eq!(mean(None, false), (vec![], vec![4.0]));
    assert_eq!(mean(Some(&[0]), true), (vec![1, 3], vec![2.5, 3.5, 6.0]));
    assert_eq!(mean(Some(&[-1]), false), (vec![2], vec![3.0, 5.0]));
    let nothing = x.slice(1, ..0).unwrap();
    let of_nothing = ops::mean(&nothing, Some(&[1]), false).unwrap();
    assert!(
        of_nothing
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .all(|mean| mean.is_nan())
    );
    assert!(ops::mean(&nothing, Some(&[0]), false).unwrap().is_empty());
    // More than fit into a float of 16 bits, and more digits than one of 32 bits has.
    let large = Tensor::full(&[100], f16::from_f32(60000.0)).unwrap();
    let large = ops::mean(&large, None, false).unwrap();
    assert_eq!(large.item::<f16>().unwrap(), f16::from_f32(60000.0));
    let digits = Tensor::from([16_777_216.0_f32, 1.0, 1.0, 2.0]);
    let mean = ops::mean(&digits, None, false).unwrap();
    assert_eq!(mean.item::<f32>().unwrap(), 4_194_305.0);
    assert!(ops::mean(&Tensor::from([1]), None, false).is_err());
}

#[test]
fn max_goes_along_axes() {
    let x = Tensor::from([[3_i32, -2, 1], [-4, -5, 6]]);
    let max = |axes: Option<&[i64]>, keeps| {
        let max = ops::max(&x, axes, keeps).unwrap();
        (max.shape().to_vec(), max.to_vec::<i32>().unwrap())
    };
    assert_eq!(max(None, false), (vec![], vec![6]));
    assert_eq!(max(Some(&[0]), true), (vec![1, 3], vec![3, -2, 6]));
    assert_eq!(max(Some(&[-1]), false), (vec![2], vec![3, 6]));
    assert_eq!(
        max(Some(&[]), true),
        (vec![2, 3], vec![3, -2, 1, -4, -5, 6])
    );
    let least = Tensor::from([f32::NEG_INFINITY; 2]);
    assert_eq!(
        ops::max(&least, None, false)
            .unwrap()
            .item::<f32>()
            .unwrap(),
        f32::NEG_INFINITY
    );
    let least = Tensor::from([i64::MIN; 2]);
    assert_eq!(
        ops::max(&least, None, false)
            .unwrap()
            .item::<i64>()
            .unwrap(),
        i64::MIN
    );
    for with_nan in [
        [f32::NAN, 1.0, f32::INFINITY],
        [1.0, f32::INFINITY, f32::NAN],
    ] {
        let max = ops::max(&Tensor::from(with_nan), Some(&[0]), false).unwrap();
        assert!(max.item::<f32>().unwrap().is_nan());
    }
    let nothing = x.slice(1, ..0).unwrap();
    assert!(ops::max(&nothing, Some(&[0]), false).unwrap().is_empty());
    for axes in [None, Some(&[1][..])] {
        let error = ops::max(&nothing, axes, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "max: x, of shape [2, 0], has no largest element"
        );
    }
    let error = ops::max(&x, Some(&[0, -2]), false).unwrap_err();
    assert_eq!(error.to_string(), "max: axis -2 is given twice");
}

#[test]
fn softmax_is_stable() {
    let x = Tensor::from([[1000.0_f32, 1000.0], [-1000.0, 0.0]]);
    let parts = ops::softmax(&x, -1).unwrap();
    assert_eq!(parts.to_vec::<f32>().unwrap(), [0.5, 0.5, 0.0, 1.0]);
    let down = ops::softmax(&x, 0).unwrap();
    assert_eq!(down.to_vec::<f32>().unwrap(), [1.0, 1.0, 0.0, 0.0]);
    let nan = ops::softmax(&Tensor::from([1.0_f64, f64::NAN]), 0).unwrap();
    assert!(
        nan.to_vec::<f64>()
            .unwrap()
            .iter()
            .all(|part| part.is_nan())
    );
    for (x, axis, rank) in [(&x, 2, 2), (&x, -3, 2), (&Tensor::scalar(1.0), -1, 0)] {
        let error = ops::softmax(x, axis).unwrap_err();
        let expected = format!("softmax: axis {axis} is out of bounds for a tensor of rank {rank}");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn rms_norm_scales_rows() {
    let x = Tensor::from([[3.0_f64, -4.0], [0.0, 0.0]]);
    let weight = Tensor::from([2.0_f64, 1.0]);
    let root = 12.5_f64.sqrt();
    let normed = ops::rms_norm(&x, &weight, 0.0)
        .unwrap()
        .to_vec::<f64>()
        .unwrap();
    assert_eq!(normed[..2], [3.0 / root * 2.0, -4.0 / root]);
    assert!(normed[2..].iter().all(|number| number.is_nan()));
    let normed = ops::rms_norm(&x, &weight, 1e-6)
        .unwrap()
        .to_vec::<f64>()
        .unwrap();
    assert_eq!(normed[2..], [0.0, 0.0]);
    // Squares that are too large for 16 bits.
    let large = Tensor::full(&[4], f16::from_f32(1000.0)).unwrap();
    let normed = ops::rms_norm(&large, &Tensor::full(&[4], f16::ONE).unwrap(), 0.0).unwrap();
    assert_eq!(normed.to_vec::<f16>().unwrap(), [f16::ONE; 4]);
    let error = ops::rms_norm(&x, &x, 0.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rms_norm: weight has shape [2, 2], and the last axis of x 2 elements"
    );
    let error = ops::rms_norm(&Tensor::scalar(1.0), &weight, 0.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rms_norm: expected x of rank 1 or more, got rank 0"
    );
    let error = ops::rms_norm(&x, &Tensor::from([1.0_f32, 1.0]), 0.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"rms_norm: argument "weight" has elements of float32, and "x" has float64; cast "weight" to float64"#
    );
}

#[test]
fn copy_accepts_every_whole_byte_dtype() {
    let bytes: Vec<u8> = (0..48).collect();
    for dtype in [
        DType::BF16,
        DType::F8_E8M0FNU,
        DType::C64,
        DType::BOOL,
        DType::C128,
    ] {
        let count = 48 / dtype.item_bytes().unwrap();
        let storage = Storage::from_vec(bytes.clone());
        let x = Tensor::from_storage(storage, &[count], dtype).unwrap();
        let copy = ops::copy(&x).unwrap();
        assert_eq!((copy.dtype(), copy.shape()), (dtype, x.shape()));
        assert_ne!(copy.data_ptr(), x.data_ptr());
        assert_eq!(copy.as_bytes().unwrap().to_vec::<u8>().unwrap(), bytes);
    }
    for dtype in [DType::I4, DType::F6_E3M2FN, DType::U1] {
        let error = ops::copy(&Tensor::zeros(&[4], dtype).unwrap()).unwrap_err();
        let expected = format!("copy: elements of {dtype} aren't whole bytes");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn matmul_multiplies_matrices() {
    let x = Tensor::from([[1_i32, 2, 3], [4, 5, 6]]);
    let product = ops::matmul(&x, &x.transpose()).unwrap();
    assert_eq!(product.to_vec::<i32>().unwrap(), [14, 32, 32, 77]);
}
