//! Strides that lead nowhere, as of fewer than two elements: they may be any numbers.

use dlbridge::{DType, Storage, Tensor, ops};

/// Returns results of several ops along each axis.
fn results(x: &Tensor) -> Vec<Tensor> {
    let mut all = vec![
        ops::add(x, x).unwrap(),
        ops::exp(x).unwrap(),
        ops::copy(x).unwrap(),
        ops::sum(x, None, false).unwrap(),
        ops::concat([x, x], 0).unwrap(),
        ops::matmul(x, &x.transpose()).unwrap(),
    ];
    for axis in 0..2_i64 {
        let size = x.shape()[axis as usize];
        let weight = Tensor::full(&[size], 2.0_f32).unwrap();
        all.push(ops::softmax(x, axis).unwrap());
        all.push(ops::log_softmax(x, axis).unwrap());
        all.push(ops::layer_norm(x, &weight, &weight, axis, 0.5).unwrap());
        all.push(ops::sum(x, Some(&[axis]), true).unwrap());
        all.push(ops::mean(x, Some(&[axis]), false).unwrap());
        if size > 0 {
            all.push(ops::max(x, Some(&[axis]), false).unwrap());
            all.push(ops::argmax(x, Some(axis), false).unwrap());
            all.push(ops::take(x, &Tensor::from([0_i64, -1]), axis).unwrap());
        }
    }
    all
}

#[test]
fn ops_take_any_strides_that_lead_nowhere() {
    for (shape, strides) in [
        ([1, 3], [isize::MAX, 1]),
        ([1, 3], [isize::MIN, 1]),
        ([3, 1], [1, isize::MIN]),
        ([1, 1], [isize::MAX, isize::MIN]),
        ([0, 3], [isize::MAX, isize::MIN]),
        ([3, 0], [isize::MIN, isize::MAX]),
    ] {
        let storage = Storage::from_vec(vec![1.0_f32, 3.0, 2.0]);
        let odd = Tensor::strided(storage, &shape, &strides, DType::F32).unwrap();
        let usual = odd.contiguous().unwrap();
        for (odd, usual) in results(&odd).iter().zip(results(&usual)) {
            assert_eq!(odd.shape(), usual.shape(), "{shape:?} by {strides:?}");
            let numbers = |x: &Tensor| format!("{:?}", x.scalars().unwrap().collect::<Vec<_>>());
            assert_eq!(numbers(odd), numbers(&usual), "{shape:?} by {strides:?}");
        }
    }
}
