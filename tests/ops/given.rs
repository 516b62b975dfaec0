//! Random shapes, layouts and numbers.

use crate::number::Number;
use crate::oracle::List;
use dlbridge::kernel::{IntoOperandMut, Operand};
use dlbridge::{Device, Tensor};
use proptest::prelude::*;
use proptest::sample::Index;

/// The most dimensions that a tensor has.
const MOST: usize = 5;

/// How a tensor lies in memory: what is done to a dense one, and undone by what is seen of it.
#[derive(Debug, Clone)]
pub(crate) struct Lie {
    order: Vec<Index>,
    backwards: Vec<bool>,
    gaps: Vec<bool>,
}

pub(crate) fn lie() -> impl Strategy<Value = Lie> {
    let order = prop::collection::vec(any::<Index>(), MOST);
    let flags = || prop::collection::vec(any::<bool>(), MOST);
    (order, flags(), flags()).prop_map(|(order, backwards, gaps)| Lie {
        order,
        backwards,
        gaps,
    })
}

impl Lie {
    /// A tensor of a shape that lies so.
    pub(crate) fn empty<T: Number>(&self, shape: &[usize]) -> Tensor {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for (at, with) in (0..shape.len()).zip(&self.order) {
            axes.swap(at, with.index(shape.len()));
        }
        let with_gaps = |axis: &usize| shape[*axis] * if self.gaps[*axis] { 3 } else { 1 };
        let outer: Vec<_> = axes.iter().map(with_gaps).collect();
        let mut tensor = Tensor::full(&outer, T::of(99)).unwrap();
        for (at, axis) in axes.iter().enumerate() {
            if self.gaps[*axis] {
                tensor = tensor.step_by(at, 3).unwrap();
            }
            if self.backwards[*axis] {
                tensor = tensor.step_by(at, -1).unwrap();
            }
        }
        let mut back = vec![0; axes.len()];
        axes.iter()
            .enumerate()
            .for_each(|(at, axis)| back[*axis] = at);
        let tensor = tensor.permute(&back).unwrap();
        assert_eq!(tensor.shape(), shape);
        tensor
    }

    pub(crate) fn tensor<T: Number>(&self, list: &List<T>) -> Tensor {
        let mut tensor = self.empty::<T>(&list.shape);
        let mut view = tensor.view_mut::<T>().unwrap();
        view.iter_mut()
            .zip(&list.elements)
            .for_each(|(to, from)| *to = *from);
        tensor
    }
}

pub(crate) fn list<T: Number>(shape: Vec<usize>) -> impl Strategy<Value = List<T>> {
    prop::collection::vec(any::<i8>(), shape.iter().product::<usize>()).prop_map(move |numbers| {
        List {
            shape: shape.clone(),
            elements: numbers.into_iter().map(T::of).collect(),
        }
    })
}

pub(crate) fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 3 => Just(1), 6 => 2..=4_usize]
}

pub(crate) fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(size(), 0..=3)
}

/// Two shapes, mostly such as can be broadcast: parts of one, with ones.
pub(crate) fn two_shapes() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    let ones = || prop::collection::vec(prop::bool::weighted(0.3), 3);
    let related = (shape(), ones(), ones(), any::<Index>(), any::<bool>()).prop_map(
        |(shape, ones, others, from, swap)| {
            let with = |ones: &[bool]| -> Vec<usize> {
                let sizes = shape.iter().zip(ones);
                sizes
                    .map(|(size, one)| if *one { 1 } else { *size })
                    .collect()
            };
            let part = with(&others)[from.index(shape.len() + 1)..].to_vec();
            if swap {
                (part, with(&ones))
            } else {
                (with(&ones), part)
            }
        },
    );
    prop_oneof![5 => related, 1 => (shape(), shape())]
}

pub(crate) fn two<T: Number>() -> impl Strategy<Value = (List<T>, List<T>)> {
    two_shapes().prop_flat_map(|(a, b)| (list(a), list(b)))
}

pub(crate) fn same<T: Number>() -> impl Strategy<Value = (List<T>, List<T>)> {
    prop_oneof![5 => shape().prop_flat_map(|shape| (list(shape.clone()), list(shape))), 1 => two()]
}

/// Two lists that mostly can be multiplied: matrices, vectors, and batches that are broadcast.
pub(crate) fn matrices<T: Number>() -> impl Strategy<Value = (List<T>, List<T>)> {
    let sizes = || [size(), size(), size()];
    let fit = sizes().prop_flat_map(|[m, k, n]| (list(vec![m, k]), list(vec![k, n])));
    let batch = (sizes(), two_shapes(), any::<[bool; 2]>()).prop_flat_map(
        |([m, k, n], (mut a, mut b), [is_row, is_column])| {
            (a, b) = if is_row { (vec![], b) } else { (a, b) };
            (a, b) = if is_column { (a, vec![]) } else { (a, b) };
            a.extend((!is_row).then_some(m));
            a.push(k);
            b.push(k);
            b.extend((!is_column).then_some(n));
            (list(a), list(b))
        },
    );
    prop_oneof![3 => fit, 5 => batch, 1 => two()]
}

/// An operand to be written, however it was made.
pub(crate) struct Written<'a>(Operand<'a>);

impl<'a> IntoOperandMut<'a> for Written<'a> {
    fn into_operand_mut(self) -> Result<Operand<'a>, dlbridge::Error> {
        Ok(self.0)
    }
}

/// A tensor to be read, and to be written by the same call.
pub(crate) fn read_and_written(tensor: &mut Tensor) -> (Operand<'_>, Written<'_>) {
    let first = tensor.data_ptr().cast_mut();
    let (layout, dtype) = (tensor.layout(), tensor.dtype());
    // SAFETY: the tensor is borrowed, and these are operands of one call, which looks whether it
    // allows that.
    let operand =
        |writable| unsafe { Operand::from_raw(first, layout, dtype, Device::CPU, false, writable) };
    (operand(false), Written(operand(true)))
}
