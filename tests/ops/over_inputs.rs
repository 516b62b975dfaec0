//! Results that are written over an input, or over both, compared with those beside them.

use crate::given::read_and_written;
use crate::number::Number;
use dlbridge::compute::threads::with_num_threads;
use dlbridge::compute::{Level, with_level};
use dlbridge::kernel::Registry;
use dlbridge::{Tensor, ops};
use half::{bf16, f16};

/// Around the sizes at which loops change.
const SIZES: [usize; 10] = [0, 1, 15, 16, 17, 31, 32, 33, 95, 1000];
/// Worth several threads.
const LARGE: usize = if cfg!(miri) { 100 } else { 70_001 };
const NAMES: [&str; 6] = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum",
];

/// Which of the inputs the result is written over.
#[derive(Debug, Clone, Copy)]
enum Over {
    First,
    Second,
    Both,
}

fn numbers<T: Number>(shape: &[usize], seed: usize) -> Tensor {
    let len = shape.iter().product();
    let number = |at: usize| T::of((at.wrapping_mul(seed) % 11) as i8 + 1);
    Tensor::from_vec((0..len).map(number).collect(), shape).unwrap()
}

/// Tensors of one shape: without gaps, with gaps, and with the axes in another order.
fn arranged<T: Number>(size: usize, seed: usize) -> [Tensor; 3] {
    let wide = numbers::<T>(&[size, 2], seed);
    let matrix = numbers::<T>(&[3, size / 3], seed);
    [
        numbers::<T>(&[size], seed),
        wide.select(1, 0).unwrap(),
        matrix.transpose(),
    ]
}

fn check<T: Number>(name: &str, size: usize, over: Over) {
    let op = Registry::global().op(name).unwrap();
    let seconds = arranged::<T>(size, 3).into_iter();
    for (mut a, mut b) in arranged::<T>(size, 7).into_iter().zip(seconds) {
        let (x, y) = (a.copy().unwrap(), b.copy().unwrap());
        let again = a.clone();
        let (wanted, call) = match over {
            Over::First => {
                let wanted = op.call().input(&x).input(&y).make();
                let (read, written) = read_and_written(&mut a);
                (wanted, op.call().input(read).input(&b).output(written))
            }
            Over::Second => {
                let wanted = op.call().input(&x).input(&y).make();
                let (read, written) = read_and_written(&mut b);
                (wanted, op.call().input(&a).input(read).output(written))
            }
            Over::Both => {
                let wanted = op.call().input(&x).input(&x).make();
                let (read, written) = read_and_written(&mut a);
                (wanted, op.call().input(read).input(&again).output(written))
            }
        };
        call.run().unwrap();
        let found = match over {
            Over::Second => &b,
            Over::First | Over::Both => &a,
        };
        let wanted = wanted.unwrap().to_vec::<T>().unwrap();
        let strides = found.strides();
        let found = found.to_vec::<T>().unwrap();
        assert!(
            found == wanted,
            "{name} of {size}, {strides:?}, over {over:?}"
        );
    }
}

fn check_all<T: Number>(names: &[&str], sizes: &[usize]) {
    let levels = Level::loops();
    for level in levels {
        for name in names {
            for &size in sizes {
                for over in [Over::First, Over::Second, Over::Both] {
                    let checked = || check::<T>(name, size, over);
                    with_level(level, || with_num_threads(2, checked));
                }
            }
        }
    }
}

#[test]
fn results_over_inputs_equal_those_beside_them() {
    check_all::<f32>(&NAMES, &SIZES);
    check_all::<f64>(&NAMES, &SIZES);
    check_all::<f16>(&NAMES, &SIZES);
    check_all::<bf16>(&NAMES, &SIZES);
    // Integers aren't divided.
    let names: Vec<_> = NAMES.into_iter().filter(|name| *name != "divide").collect();
    check_all::<i8>(&names, &SIZES);
    check_all::<i64>(&names, &SIZES);
    check_all::<f32>(&["add"], &[LARGE]);
    check_all::<bf16>(&["add"], &[LARGE]);
}

fn check_multiples<T: Number>() {
    let two = T::of(2);
    for size in SIZES.into_iter().chain([LARGE]) {
        let others = arranged::<T>(size, 3).into_iter();
        for (x, mut y) in arranged::<T>(size, 7).into_iter().zip(others) {
            let factor = Tensor::from_vec(vec![two], &[]).unwrap();
            let wanted = ops::add(&ops::multiply(&x, &factor).unwrap(), &y).unwrap();
            let (_, written) = read_and_written(&mut y);
            ops::axpy(two, &x, written).unwrap();
            let (found, wanted) = (y.to_vec::<T>().unwrap(), wanted.to_vec::<T>().unwrap());
            assert!(found == wanted, "{} of {size}", y.dtype());
        }
    }
}

#[test]
fn multiples_are_added_in_every_size() {
    check_multiples::<f32>();
    check_multiples::<f16>();
}
