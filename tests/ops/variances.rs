//! `var` and `std`: in all arrangements of tensors, numbers of threads and SIMD levels, against a
//! naive oracle.

use crate::reductions::{check_every_float, groups, numbers, rounded};
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{Element, Tensor, ops};
use half::{bf16, f16};

/// The variance by two passes in `f64`, without what rounding the mean adds to it.
fn variance(x: &[f64], correction: f64) -> f64 {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    let squares: f64 = x.iter().map(|x| (x - mean) * (x - mean)).sum();
    let rest: f64 = x.iter().map(|x| x - mean).sum();
    (squares - rest * rest / count) / (count - correction).max(0.0)
}

fn check_var<T: Element + Into<f64>>(x: &[T], shape: &[usize], tolerance: Tolerance) {
    let every: Vec<usize> = (0..shape.len()).collect();
    let mut all = vec![every.clone(), vec![]];
    all.extend(every.iter().map(|axis| vec![*axis]));
    if shape.len() > 2 {
        all.push(vec![0, 2]);
    }
    let wide: Vec<f64> = x.iter().map(|x| (*x).into()).collect();
    for (axes, correction) in all.into_iter().zip([0.0, 0.0, 1.0, 0.5, 1.0, 0.0]) {
        let (left, groups) = groups(shape, &axes);
        let of_group = |group: &Vec<usize>| {
            let part: Vec<f64> = group.iter().map(|at| wide[*at]).collect();
            variance(&part, correction)
        };
        let variances: Vec<f64> = groups.iter().map(of_group).collect();
        let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        for (name, root) in [("var", false), ("std", true)] {
            let expected = variances.iter().map(|x| if root { x.sqrt() } else { *x });
            let test = OpTest::new(name).attribute("axis", axes.clone());
            let test = test.attribute("correction", correction);
            let test = test.input(&Tensor::from_slice(x, shape).unwrap());
            test.within(tolerance)
                .expect(&rounded::<T>(&left, expected));
        }
    }
}

#[test]
fn var_and_std_of_every_float_are_near_the_oracle() {
    for shape in [
        &[3, 4, 5][..],
        &[2, 70],
        &[70, 2],
        &[3, 40, 33],
        &[1],
        &[],
        &[2, 0],
    ] {
        let tolerances = [
            Tolerance::close(1e-7, 1e-6),
            Tolerance::close(1e-15, 1e-14),
            Tolerance::close(1e-3, 2e-3),
            Tolerance::close(1e-3, 1e-2),
        ];
        check_every_float!(check_var, shape, 7.0, tolerances);
    }
}

#[test]
fn var_is_accurate_far_from_zero() {
    // The mean is 10^5 times the deviation, so that squares in `f32` would have no digits left.
    let far = |x: i8| 1e5 + f32::from(x) / 64.0;
    check_var(
        &numbers(60_000, far),
        &[120, 500],
        Tolerance::close(0.0, 1e-6),
    );
    check_var(
        &numbers(30_000, far),
        &[30_000],
        Tolerance::close(0.0, 1e-6),
    );
    let far = |x: i8| 1e9 + f64::from(x) / 64.0;
    check_var(
        &numbers(30_000, far),
        &[300, 100],
        Tolerance::close(0.0, 1e-12),
    );
}

#[test]
fn var_of_nan_infinity_and_too_few_elements_is_nan_or_infinite() {
    let var = |x: &[f32], correction| {
        let x = Tensor::from_slice(x, &[x.len()]).unwrap();
        ops::var(&x, None, correction, false)
            .unwrap()
            .to_vec::<f32>()
            .unwrap()[0]
    };
    for x in [&[1.0, f32::NAN, 2.0][..], &[f32::INFINITY, 1.0], &[]] {
        assert!(var(x, 0.0).is_nan(), "{x:?}");
    }
    assert!(var(&[3.0], 1.0).is_nan() && var(&[3.0], 2.0).is_nan());
    assert_eq!(
        (var(&[1.0, 3.0], 2.0), var(&[3.0], 0.0)),
        (f32::INFINITY, 0.0)
    );
}

#[test]
fn std_of_numbers_whose_squares_are_no_floats_is_near() {
    let check = |x: &Tensor, axis: i64, expected: f32| {
        let found = ops::std(x, Some(&[axis]), 0.0, false).unwrap();
        for found in found.to_vec::<f32>().unwrap() {
            let shape = x.shape();
            assert!(
                (found / expected - 1.0).abs() < 1e-5,
                "{shape:?}, {expected}: {found}"
            );
        }
    };
    // Squares of 1e30 are infinite, and those of 1e-30 are 0.
    for large in [1e30_f32, 3e19, 1e-19, 1e-30] {
        for shape in [&[6][..], &[5000], &[70, 66]] {
            let len = shape.iter().product::<usize>();
            let x = (0..len).map(|at| [large, -large][at % 2]).collect();
            let x = Tensor::from_vec(x, shape).unwrap();
            check(&x, shape.len() as i64 - 1, large);
            let twice = [&[2], shape].concat();
            check(&x.broadcast_to(&twice).unwrap(), shape.len() as i64, large);
            check(&x.transpose().contiguous().unwrap(), 0, large);
        }
    }
    for equal in [0.0_f32, 1e-30, 1e30, f32::MAX] {
        let x = Tensor::from_slice(&[equal; 3000], &[3000]).unwrap();
        let found = ops::std(&x, None, 0.0, false).unwrap();
        assert_eq!(found.item::<f32>().unwrap(), 0.0, "{equal}");
    }
}
