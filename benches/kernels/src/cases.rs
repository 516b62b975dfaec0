//! The computations that are compared.

use crate::arrays;
use crate::timing::{Call, Case};
use candle_core::Device;
use dlbridge::ops;
use ndarray::{Array1, Array2};

type Candle = candle_core::Tensor;
type Ours = dlbridge::Tensor;

/// A matrix in the three libraries.
#[derive(Clone)]
struct Matrix {
    ours: Ours,
    array: Array2<f32>,
    candle: Candle,
}

impl Matrix {
    /// Random numbers from -1 to 1, by a linear congruential generator.
    fn new(rows: usize, columns: usize) -> Self {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let values: Vec<f32> = (0..rows * columns).map(|_| next()).collect();
        let shape = (rows, columns);
        Self {
            ours: Ours::from_vec(values.clone(), &[rows, columns]).expect("as many numbers"),
            candle: Candle::from_vec(values.clone(), shape, &Device::Cpu).expect("as many numbers"),
            array: Array2::from_shape_vec(shape, values).expect("as many numbers"),
        }
    }
}

/// Returns all cases, those with large tensors last.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in [[1, 1000], [1024, 1024], [2048, 2048], [65_536, 64]] {
        cases.push(softmax(shape));
        cases.push(rms_norm(shape));
    }
    for side in [100, 1024, 2000, 4096] {
        cases.push(transposed(side));
    }
    for shape in [[1, 1000], [1024, 1024], [2048, 2048]] {
        cases.push(copy(shape));
        cases.push(add(shape));
        cases.push(sum(shape));
    }
    for side in [8, 64, 512, 1024] {
        cases.push(matmul(side));
    }
    cases
}

/// Returns a case of one matrix, with the calls that a function makes of it.
fn case(
    name: &'static str,
    [rows, columns]: [usize; 2],
    bar: f64,
    calls: impl FnOnce(Ours, Array2<f32>, Candle) -> [Call; 3],
) -> Case {
    let Matrix {
        ours,
        array,
        candle,
    } = Matrix::new(rows, columns);
    Case {
        name,
        size: format!("{rows}x{columns}"),
        bar,
        calls: calls(ours, array, candle),
    }
}

fn ours(function: impl Fn() -> Ours + 'static) -> Call {
    Call::new(function, |x| x.to_vec().expect("float32"))
}

fn array(function: impl Fn() -> Array2<f32> + 'static) -> Call {
    Call::new(function, |x| x.iter().copied().collect())
}

fn candle(function: impl Fn() -> Result<Candle, candle_core::Error> + 'static) -> Call {
    Call::new(
        move || function().expect("candle has the function"),
        |x| {
            let flat = x.flatten_all().expect("any tensor can be");
            flat.to_vec1().expect("float32")
        },
    )
}

fn softmax(shape: [usize; 2]) -> Case {
    case("softmax", shape, 2.0, |a, b, c| {
        [
            ours(move || ops::softmax(&a, -1).expect("floats")),
            array(move || arrays::softmax(&b)),
            candle(move || candle_nn::ops::softmax_last_dim(&c)),
        ]
    })
}

fn rms_norm(shape: [usize; 2]) -> Case {
    let weights = Matrix::new(1, shape[1]);
    let ours_weight = weights.ours.reshape(&[shape[1]]).expect("as many numbers");
    let weight: Array1<f32> = weights.array.row(0).to_owned();
    let candle_weight = weights.candle.flatten_all().expect("any tensor can be");
    case("rms_norm", shape, 2.0, |a, b, c| {
        [
            ours(move || ops::rms_norm(&a, &ours_weight, 1e-6).expect("floats")),
            array(move || arrays::rms_norm(&b, &weight, 1e-6)),
            candle(move || candle_nn::ops::rms_norm(&c, &candle_weight, 1e-6)),
        ]
    })
}

fn transposed(side: usize) -> Case {
    case("transposed copy", [side; 2], 2.0, |a, b, c| {
        let (a, c) = (a.transpose(), c.t().expect("a matrix"));
        [
            ours(move || a.copy().expect("memory for it")),
            array(move || arrays::copy(b.t())),
            candle(move || c.contiguous()),
        ]
    })
}

fn copy(shape: [usize; 2]) -> Case {
    case("copy", shape, 1.0, |a, b, c| {
        [
            ours(move || a.copy().expect("memory for it")),
            array(move || arrays::copy(b.view())),
            candle(move || c.copy()),
        ]
    })
}

fn add(shape: [usize; 2]) -> Case {
    case("add", shape, 1.0, |a, b, c| {
        [
            ours(move || ops::add(&a, &a).expect("floats")),
            array(move || arrays::add(&b, &b)),
            candle(move || &c + &c),
        ]
    })
}

fn sum(shape: [usize; 2]) -> Case {
    case("sum", shape, 1.0, |a, b, c| {
        [
            ours(move || ops::sum(&a, None, false).expect("floats")),
            array(move || Array2::from_elem((1, 1), b.sum())),
            candle(move || c.sum_all()),
        ]
    })
}

fn matmul(side: usize) -> Case {
    case("matmul", [side; 2], 1.0, |a, b, c| {
        [
            ours(move || ops::matmul(&a, &a).expect("matrices of floats")),
            array(move || b.dot(&b)),
            candle(move || c.matmul(&c)),
        ]
    })
}
