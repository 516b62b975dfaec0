//! A naive oracle of the ops: by index, over lists of numbers.

use crate::number::{Float, Number};
use dlbridge::Tensor;
use std::cmp::Ordering;

/// A tensor as a list: the shape, and the elements in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<T>,
}

/// All indices of a shape, in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let longer = |all: Vec<Vec<usize>>, size: &usize| {
        let with = |index: &Vec<usize>| {
            let index = index.clone();
            (0..*size).map(move |last| [&index[..], &[last]].concat())
        };
        all.iter().flat_map(with).collect()
    };
    shape.iter().fold(vec![vec![]], longer)
}

impl<T: Number> List<T> {
    pub(crate) fn of(tensor: &Tensor) -> Self {
        Self {
            shape: tensor.shape().to_vec(),
            elements: tensor.to_vec().unwrap(),
        }
    }

    pub(crate) fn at(&self, index: &[usize]) -> T {
        let mut place = 0;
        for (index, size) in index.iter().zip(&self.shape) {
            place = place * size + index;
        }
        self.elements[place]
    }

    /// The element that an index of a larger shape stands for.
    fn at_broadcast(&self, index: &[usize]) -> T {
        let index = &index[index.len() - self.shape.len()..];
        let own = index.iter().zip(&self.shape);
        let own: Vec<_> = own
            .map(|(at, size)| if *size == 1 { 0 } else { *at })
            .collect();
        self.at(&own)
    }

    fn from_fn(shape: &[usize], element: impl Fn(&[usize]) -> T) -> Self {
        let elements = indices(shape).iter().map(|index| element(index)).collect();
        let shape = shape.to_vec();
        Self { shape, elements }
    }

    /// What a function makes of both elements, broadcast against each other.
    pub(crate) fn zip(&self, other: &Self, function: impl Fn(T, T) -> T) -> Option<Self> {
        let shape = broadcast(&self.shape, &other.shape)?;
        let element =
            |index: &[usize]| function(self.at_broadcast(index), other.at_broadcast(index));
        Some(Self::from_fn(&shape, element))
    }

    pub(crate) fn axpy(&self, alpha: T, x: &Self) -> Option<Self> {
        let one = T::of_one();
        let sum = |index: &[usize]| {
            T::sum_of_products([(self.at(index), one), (alpha, x.at(index))].into_iter())
        };
        (self.shape == x.shape).then(|| Self::from_fn(&self.shape, sum))
    }

    /// The product of batches of matrices, whose sums another type may hold.
    pub(crate) fn matmul<S: Number>(
        &self,
        other: &Self,
        sum: impl Fn(Vec<(T, T)>) -> S,
    ) -> Option<List<S>> {
        let (mut a, mut b) = (self.clone(), other.clone());
        let (is_row, is_column) = (a.shape.len() == 1, b.shape.len() == 1);
        if is_row {
            a.shape.insert(0, 1);
        }
        if is_column {
            b.shape.push(1);
        }
        let (a_batch, &[rows, depth]) = a.shape.split_last_chunk()?;
        let (b_batch, &[other_depth, columns]) = b.shape.split_last_chunk()?;
        let batch = broadcast(a_batch, b_batch)?;
        let shape = [&batch[..], &[rows, columns]].concat();
        let element = |index: &[usize]| {
            let (batch, &[row, column]) = index.split_last_chunk().unwrap();
            let pair = |k| {
                let a = a.at_broadcast(&[batch, &[row, k]].concat());
                (a, b.at_broadcast(&[batch, &[k, column]].concat()))
            };
            sum((0..depth).map(pair).collect())
        };
        let mut product = (depth == other_depth).then(|| List::from_fn(&shape, element))?;
        let mut is_missing = [is_row, is_column].into_iter();
        let mut dimension = 0;
        product.shape.retain(|_| {
            dimension += 1;
            dimension <= batch.len() || !is_missing.next().unwrap()
        });
        Some(product)
    }

    /// What a function makes of the elements along some axes, which are all for `None`.
    pub(crate) fn reduce(
        &self,
        axes: Option<&[i64]>,
        keeps: bool,
        function: impl Fn(Vec<T>) -> T,
    ) -> Option<Self> {
        let mut reduced = vec![axes.is_none(); self.shape.len()];
        for axis in axes.unwrap_or_default() {
            if std::mem::replace(&mut reduced[self.dimension(*axis)?], true) {
                return None;
            }
        }
        let kept = |(size, is_reduced): (&usize, &bool)| if *is_reduced { 1 } else { *size };
        let kept: Vec<_> = self.shape.iter().zip(&reduced).map(kept).collect();
        let all = indices(&self.shape);
        let mut results = Self::from_fn(&kept, |at| {
            let is_part = |index: &&Vec<usize>| {
                let mut dims = index.iter().zip(at).zip(&reduced);
                dims.all(|((own, at), is_reduced)| *is_reduced || own == at)
            };
            let part = all.iter().filter(is_part);
            function(part.map(|index| self.at(index)).collect())
        });
        if !keeps {
            let mut is_reduced = reduced.iter();
            results.shape.retain(|_| !is_reduced.next().unwrap());
        }
        Some(results)
    }

    /// The largest elements along some axes, where there are any.
    pub(crate) fn max(&self, axes: Option<&[i64]>, keeps: bool) -> Option<Self> {
        // Where there is nothing to choose from there is no result.
        let count = self.reduce(axes, keeps, |_| T::of(0))?.elements.len();
        if self.elements.is_empty() && count > 0 {
            return None;
        }
        self.reduce(axes, keeps, |part| {
            let is_largest = |x: &&T| {
                let beats = |y: &T| x.compare(*y).is_some_and(Ordering::is_ge);
                part.iter().all(beats)
            };
            *part.iter().find(is_largest).unwrap()
        })
    }

    fn dimension(&self, axis: i64) -> Option<usize> {
        let rank = self.shape.len() as i64;
        let axis = if axis < 0 { axis + rank } else { axis };
        (0..rank).contains(&axis).then_some(axis as usize)
    }
}

impl<T: Float> List<T> {
    /// Each element as a part of all along an axis, as exactly as can be.
    pub(crate) fn softmax(&self, axis: i64) -> Option<Vec<f64>> {
        let axis = self.dimension(axis)?;
        let exact = |index: &Vec<usize>| {
            let power = |along: usize| {
                let mut index = index.clone();
                index[axis] = along;
                self.at(&index).to_f64().exp()
            };
            power(index[axis]) / (0..self.shape[axis]).map(power).sum::<f64>()
        };
        Some(indices(&self.shape).iter().map(exact).collect())
    }

    /// Each element over the root mean square along the last axis, times a weight, as exactly as
    /// can be.
    pub(crate) fn rms_norm(&self, weight: &Self, eps: f64) -> Option<Vec<f64>> {
        let last = *self.shape.last()?;
        if weight.shape != [last] {
            return None;
        }
        let rows = self.elements.chunks(last.max(1));
        let normed = rows.flat_map(|row| {
            let squares = row.iter().map(|x| x.to_f64() * x.to_f64());
            let root = (squares.sum::<f64>() / last as f64 + eps).sqrt();
            let pairs = row.iter().zip(&weight.elements);
            pairs.map(move |(x, weight)| x.to_f64() / root * weight.to_f64())
        });
        Some(normed.collect())
    }
}

/// The shape that both can be broadcast to.
fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], axis: usize| match axis + shape.len() {
        at if at < rank => 1,
        at => shape[at - rank],
    };
    let common = |axis| match (size(a, axis), size(b, axis)) {
        (a, b) if a == b => Some(a),
        (1, b) => Some(b),
        (a, 1) => Some(a),
        _ => None,
    };
    (0..rank).map(common).collect()
}
