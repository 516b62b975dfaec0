//! Folds of elements that count as far, as builds with debug assertions take few for many.

use super::{Fold, fold};
use crate::tensor::Tensor;

/// Sums of whole numbers, which `f32` has exactly.
#[derive(Clone, Copy)]
struct Sum;

impl Fold<f32> for Sum {
    type Lane = f32;
    type Total = f64;
    type Result = f32;

    fn empty_lane(self) -> f32 {
        0.0
    }
    fn add(self, lane: f32, x: f32) -> f32 {
        lane + x
    }
    fn join(self, a: f32, b: f32) -> f32 {
        a + b
    }
    fn empty(self) -> f64 {
        0.0
    }
    fn add_lane(self, total: f64, lane: f32) -> f64 {
        total + f64::from(lane)
    }
    fn combine(self, total: f64, later: f64) -> f64 {
        total + later
    }
    fn finish(self, total: f64) -> f32 {
        total as f32
    }
}

#[test]
fn sums_of_far_elements_are_exact() {
    // Lines of which several, parts of one, or neither are read in turns; and few rows.
    for [rows, columns] in [
        [1, 4099],
        [2, 2500],
        [5, 1000],
        [7, 700],
        [80, 60],
        [9, 500],
    ] {
        let numbers: Vec<f32> = (0..rows * columns).map(|at| (at * 7 % 31) as f32).collect();
        let tensor = Tensor::from_slice(&numbers, &[rows, columns]).unwrap();
        for axis in [0, 1] {
            let (count, len) = if axis == 0 {
                (columns, rows)
            } else {
                (rows, columns)
            };
            let at = |result, place| match axis {
                0 => numbers[place * columns + result],
                _ => numbers[result * columns + place],
            };
            let sum = |result| (0..len).map(|place| at(result, place)).sum::<f32>();
            let mut out = Tensor::from_vec(vec![-1.0_f32; count], &[count]).unwrap();
            fold(
                tensor.view().unwrap(),
                out.view_mut().unwrap(),
                &[axis],
                Sum,
            );
            let expected: Vec<f32> = (0..count).map(sum).collect();
            assert_eq!(
                out.to_vec::<f32>().unwrap(),
                expected,
                "{rows}x{columns}, {axis}"
            );
        }
    }
}
