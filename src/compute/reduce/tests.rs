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
    // Lines of which several, parts of one, or neither are read in turns.
    for shape in [[1, 4099], [2, 2500], [5, 1000], [80, 60], [9, 500]] {
        check_sums(shape);
    }
}

#[test]
fn sums_of_few_rows_are_exact() {
    for rows in 1..=9 {
        check_sums([rows, 70]);
    }
}

/// Compares sums along both axes with those of the numbers one after another.
fn check_sums([rows, columns]: [usize; 2]) {
    let numbers: Vec<f32> = (0..rows * columns).map(|at| (at * 7 % 31) as f32).collect();
    let tensor = Tensor::from_slice(&numbers, &[rows, columns]).unwrap();
    let across = |at: usize| numbers[at..].iter().step_by(columns).sum();
    let along = |line: &[f32]| line.iter().sum();
    let expected: [Vec<f32>; 2] = [
        (0..columns).map(across).collect(),
        numbers.chunks(columns).map(along).collect(),
    ];
    for (axis, expected) in expected.into_iter().enumerate() {
        let mut out = Tensor::from_vec(vec![-1.0_f32; expected.len()], &[expected.len()]).unwrap();
        let (x, view) = (tensor.view().unwrap(), out.view_mut().unwrap());
        fold(x, view, &[axis], Sum);
        let found = out.to_vec::<f32>().unwrap();
        assert_eq!(found, expected, "{rows}x{columns}, {axis}");
    }
}
