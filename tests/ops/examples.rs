//! What each op does, and what it refuses.

use dlbridge::{Tensor, ops};

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
        "axpy: argument \"x\" has elements of float64, and \"alpha\" has float32"
    );
}

#[test]
fn sums_go_along_axes() {
    let x = Tensor::from([[1_i32, 2, 3], [4, 5, 6]]);
    let sum = |axes: &[i64], keeps| {
        let sum = ops::sum(&x, axes, keeps).unwrap();
        (sum.shape().to_vec(), sum.to_vec::<i32>().unwrap())
    };
    assert_eq!(sum(&[], false), (vec![], vec![21]));
    assert_eq!(sum(&[0], false), (vec![3], vec![5, 7, 9]));
    assert_eq!(sum(&[-1], true), (vec![2, 1], vec![6, 15]));
    let error = ops::sum(&x, &[2], false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "sum: there is no axis 2 in a tensor of rank 2"
    );
}

#[test]
fn matrices_are_multiplied() {
    let x = Tensor::from([[1_i32, 2, 3], [4, 5, 6]]);
    let product = ops::matmul(&x, &x.transpose()).unwrap();
    assert_eq!(product.to_vec::<i32>().unwrap(), [14, 32, 32, 77]);
}
