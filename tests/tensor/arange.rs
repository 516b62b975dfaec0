//! Counting.

use dlbridge::{DType, Tensor};
use proptest::prelude::*;

/// The numbers counted, after a look at the tensor that holds them.
macro_rules! counted {
    ($ty:ty: $start:expr, $stop:expr, $step:expr) => {{
        let tensor = Tensor::arange::<$ty>($start, $stop, $step).unwrap();
        assert_eq!(tensor.dtype(), DType::of::<$ty>());
        assert_eq!(tensor.shape(), [tensor.len()]);
        tensor.to_vec::<$ty>().unwrap()
    }};
}

#[test]
fn integers_go_up_and_down_and_stop_before_the_end() {
    assert_eq!(counted!(u8: 0, 5, 2), [0, 2, 4]);
    assert_eq!(counted!(u8: 0, 4, 2), [0, 2]);
    assert_eq!(counted!(i64: 5, 0, -2), [5, 3, 1]);
    assert_eq!(counted!(i32: 3, 3, 1), [0_i32; 0]);
    assert_eq!(counted!(i32: 3, 0, 1), [0_i32; 0]);
    assert_eq!(counted!(i32: 0, 3, -1), [0_i32; 0]);
    // The number after the last one needn't be one of the type.
    assert_eq!(counted!(u8: 250, 255, 4), [250, 254]);
    assert_eq!(counted!(i8: -120, i8::MIN, -7), [-120, -127]);
    assert_eq!(counted!(i8: i8::MIN, i8::MAX, i8::MAX), [-128, -1, 126]);
    assert_eq!(counted!(u64: u64::MAX - 1, u64::MAX, 1), [u64::MAX - 1]);
}

#[test]
fn floats_are_each_calculated_afresh() {
    assert_eq!(counted!(f32: 0.0_f32, 1.0, 0.25), [0.0, 0.25, 0.5, 0.75]);
    assert_eq!(counted!(f64: 1.0_f64, -1.0, -0.75), [1.0, 0.25, -0.5]);
    assert_eq!(counted!(f64: 0.0_f64, -1.0, 1.0), [0.0_f64; 0]);
    assert_eq!(counted!(f64: f64::NAN, 1.0, 1.0).len(), 0);
    let tenths = counted!(f64: 0.0_f64, 100.0, 0.1);
    assert_eq!(tenths.len(), 1000);
    assert_eq!(tenths[999], 999.0 * 0.1);
}

#[test]
fn arange_of_floats_excludes_the_end() {
    // Rounded, the distance is a little more than three steps.
    assert!(counted!(f64: 1.0_f64, 1.3, 0.1).iter().all(|x| *x < 1.3));
    assert!(
        counted!(f64: -1.0_f64, -1.3, -0.1)
            .iter()
            .all(|x| *x > -1.3)
    );
}

#[test]
fn arange_of_floats_has_the_start_before_any_larger_step() {
    for (stop, step) in [
        (10.0_f64, f64::INFINITY),
        (1e-320, 1e300),
        (-1e-320, -1e300),
    ] {
        assert_eq!(counted!(f64: 0.0_f64, stop, step), [0.0]);
        assert!(counted!(f64: 0.0_f64, stop, -step).is_empty());
    }
    assert!(counted!(f64: 1.0_f64, 1.0, f64::INFINITY).is_empty());
}

#[test]
#[should_panic = "arange can't count in steps of 0"]
fn arange_of_integers_rejects_zero_steps() {
    let _ = Tensor::arange(0, 1, 0);
}

#[test]
#[should_panic = "arange can't count in steps of 0"]
fn arange_of_floats_rejects_zero_steps() {
    let _ = Tensor::arange(0.0_f32, 1.0, -0.0);
}

/// Against numbers that can't overflow.
macro_rules! agrees_with_wide_numbers {
    ($ty:ty: $start:expr, $stop:expr, $step:expr) => {{
        let (mut at, end, by) = (i128::from($start), i128::from($stop), i128::from($step));
        let mut wanted = vec![];
        while if by > 0 { at < end } else { at > end } {
            wanted.push(at);
            at += by;
        }
        let found = counted!($ty: $start, $stop, $step);
        let found: Vec<i128> = found.into_iter().map(i128::from).collect();
        prop_assert_eq!(found, wanted);
    }};
}

proptest! {
    #![proptest_config(crate::model::cases(500))]

    #[test]
    fn bytes_are_counted_right(start: u8, stop: u8, step in 1..=u8::MAX) {
        agrees_with_wide_numbers!(u8: start, stop, step);
    }

    #[test]
    fn signed_bytes_are_counted_right(start: i8, stop: i8, step: i8) {
        prop_assume!(step != 0);
        agrees_with_wide_numbers!(i8: start, stop, step);
    }
}

#[test]
fn numbers_of_every_countable_type() {
    assert_eq!(counted!(i16: -1, 1, 1), [-1, 0]);
    assert_eq!(counted!(u16: 0, 2, 1), [0, 1]);
    assert_eq!(counted!(u32: 0, 2, 1), [0, 1]);
}

#[test]
fn arange_of_many_floats_excludes_the_end() {
    // Of which many are rounded to one number, and the last ones to the end.
    let many = Tensor::arange(1000.0_f32, 1000.01, 1e-5).unwrap();
    let list = many.to_vec::<f32>().unwrap();
    assert!(list.iter().all(|x| *x < 1000.01));
    assert!((990..=1000).contains(&list.len()), "{}", list.len());
    let spread = Tensor::arange(2e7_f32, 2e7 + 8.0, 1.0).unwrap();
    let numbers = [0.0, 0.0, 2.0, 4.0, 4.0, 4.0, 6.0].map(|x: f32| 2e7 + x);
    assert_eq!(spread.to_vec::<f32>().unwrap(), numbers);
    let extremes = Tensor::arange(-f64::MAX, f64::MAX, f64::MAX).unwrap();
    assert_eq!(extremes.to_vec::<f64>().unwrap(), [-f64::MAX, 0.0]);
    let one = Tensor::arange(0.0, f64::INFINITY, f64::INFINITY).unwrap();
    assert_eq!(one.to_vec::<f64>().unwrap(), [0.0]);
    assert!(Tensor::arange(0.0, f64::NAN, 1.0).unwrap().is_empty());
    assert!(Tensor::arange(0.0, 1.0, f64::NAN).unwrap().is_empty());
    assert!(Tensor::arange(0.0, f64::INFINITY, 1.0).is_err());
}
