//! A naive model of view operations: a list of element numbers, no strides.

use dlbridge::{Error, Tensor};
use proptest::collection::vec;
use proptest::prelude::*;

/// How many random cases a property is tested with.
pub(crate) fn cases(natively: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 6 } else { natively },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A shape, and for each index in row-major order which element of the first tensor is there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    pub(crate) shape: Vec<usize>,
    pub(crate) ids: Vec<usize>,
}

/// All indices of a shape, the last one changing fastest.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &size in shape {
        all = all
            .iter()
            .flat_map(|index: &Vec<usize>| (0..size).map(move |at| [&index[..], &[at]].concat()))
            .collect();
    }
    all
}

impl Model {
    /// Elements 0, 1, 2, ... of a shape.
    pub(crate) fn new(shape: &[usize]) -> Self {
        Self {
            shape: shape.to_vec(),
            ids: (0..shape.iter().product()).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    fn at(&self, index: &[usize]) -> usize {
        assert_eq!(index.len(), self.shape.len());
        let place = index
            .iter()
            .zip(&self.shape)
            .fold(0, |place, (at, size)| place * size + at);
        self.ids[place]
    }

    /// Another shape, each index of which shows what was at another index.
    fn gather(&self, shape: Vec<usize>, source: impl Fn(Vec<usize>) -> Vec<usize>) -> Self {
        let ids = indices(&shape)
            .into_iter()
            .map(|index| self.at(&source(index)))
            .collect();
        Self { shape, ids }
    }

    pub(crate) fn permute(&self, axes: &[usize]) -> Self {
        let shape = axes.iter().map(|axis| self.shape[*axis]).collect();
        self.gather(shape, |new| {
            let mut old = vec![0; new.len()];
            axes.iter().zip(new).for_each(|(axis, at)| old[*axis] = at);
            old
        })
    }

    /// One dimension with another size and other indices.
    fn along(&self, axis: usize, size: usize, source: impl Fn(usize) -> usize) -> Self {
        let mut shape = self.shape.clone();
        shape[axis] = size;
        self.gather(shape, |mut index| {
            index[axis] = source(index[axis]);
            index
        })
    }

    fn without(&self, axis: usize, at: usize) -> Self {
        let mut shape = self.shape.clone();
        shape.remove(axis);
        self.gather(shape, |mut index| {
            index.insert(axis, at);
            index
        })
    }

    fn with_axis(&self, axis: usize, size: usize) -> Self {
        let mut shape = self.shape.clone();
        shape.insert(axis, size);
        self.gather(shape, |mut index| {
            index.remove(axis);
            index
        })
    }
}

/// A view operation and random numbers, of which its arguments are made.
pub(crate) type Step = (u8, usize, usize, usize);

/// A small shape, sometimes with dimensions of size 0 or 1.
pub(crate) fn shapes() -> impl Strategy<Value = Vec<usize>> {
    vec(prop_oneof![1 => 0..2_usize, 6 => 2..6_usize], 0..4)
}

/// A few operations to follow each other.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec((0..9_u8, 0..60_usize, 0..60_usize, 0..60_usize), 0..6)
}

/// Applies an operation to both; `None` where there is no dimension for it.
pub(crate) fn apply(
    (kind, a, b, c): Step,
    tensor: &Tensor,
    model: &Model,
) -> Option<(Result<Tensor, Error>, Model)> {
    let rank = model.shape.len();
    let axis = a % rank.max(1);
    let size = model.shape.get(axis).copied();
    Some(match kind {
        0 => {
            let start = b % (size? + 1);
            let count = c % (size? - start + 1);
            let sliced = tensor.slice(axis, start..start + count);
            (sliced, model.along(axis, count, |at| start + at))
        }
        1 => {
            let (size, step) = (size?, b % 3 + 1);
            let count = size.div_ceil(step);
            if c % 2 == 0 {
                let stepped = tensor.step_by(axis, step as isize);
                (stepped, model.along(axis, count, |at| at * step))
            } else {
                let stepped = tensor.step_by(axis, -(step as isize));
                (stepped, model.along(axis, count, |at| size - 1 - at * step))
            }
        }
        2 => {
            let at = b % size.filter(|size| *size > 0)?;
            (tensor.select(axis, at), model.without(axis, at))
        }
        3 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.rotate_left(axis);
            if rank > 1 {
                axes.swap(b % rank, c % rank);
            }
            (tensor.permute(&axes), model.permute(&axes))
        }
        4 => {
            let axes: Vec<usize> = (0..rank).rev().collect();
            (Ok(tensor.transpose()), model.permute(&axes))
        }
        5 => {
            let axis = a % (rank + 1);
            (tensor.unsqueeze(axis), model.with_axis(axis, 1))
        }
        6 => {
            size.filter(|size| *size == 1)?;
            (tensor.squeeze(axis), model.without(axis, 0))
        }
        7 => {
            let times = b % 3 + 1;
            if model.len() * times > 300 {
                return None;
            }
            let mut shape = model.shape.clone();
            if size == Some(1) {
                shape[axis] = times;
                (tensor.broadcast_to(&shape), model.along(axis, times, |_| 0))
            } else {
                shape.insert(0, times);
                (tensor.broadcast_to(&shape), model.with_axis(0, times))
            }
        }
        _ => {
            let (size, cut) = (size?, b % (size? + 1));
            let mut parts = match tensor.split(axis, &[cut, size - cut]) {
                Ok(parts) => parts,
                Err(error) => {
                    return Some((Err(error), model.along(axis, size - cut, |at| at + cut)));
                }
            };
            let tail = parts.remove(1);
            (Ok(tail), model.along(axis, size - cut, |at| at + cut))
        }
    })
}

/// A tensor after random operations, and what it should be.
pub(crate) fn views_of(whole: &Tensor, steps: &[Step]) -> (Tensor, Model) {
    let (mut tensor, mut model) = (whole.clone(), Model::new(whole.shape()));
    for &step in steps {
        if let Some((next, expected)) = apply(step, &tensor, &model) {
            (tensor, model) = (next.unwrap(), expected);
        }
    }
    (tensor, model)
}

/// Elements 0, 1, 2, ...
pub(crate) fn counted(shape: &[usize]) -> Tensor {
    let count = shape.iter().product::<usize>() as i32;
    Tensor::from_vec((0..count).collect(), shape).unwrap()
}

/// Elements 0, 1, 2, ... after random operations, and what they should be.
///
/// It is the only handle to its memory.
pub(crate) fn viewed(shape: &[usize], steps: &[Step]) -> (Tensor, Model) {
    views_of(&counted(shape), steps)
}

/// The numbers that a tensor of [`viewed`] consists of.
pub(crate) fn numbers(model: &Model) -> Vec<i32> {
    model.ids.iter().map(|id| *id as i32).collect()
}
