//! Random shapes, layouts and numbers of each element type, compared with the oracles.

use crate::cases::cases;
use crate::oracle::{List, Number};
use dlbridge::kernel::Registry;
use dlbridge::{Tensor, ops};
use half::{bf16, f16};
use proptest::prelude::*;
use proptest::sample::Index;

/// How a tensor lies in memory: what is done to a dense one, and undone by what is seen of it.
#[derive(Debug, Clone)]
struct Lie {
    order: Vec<Index>,
    backwards: Vec<bool>,
    gaps: Vec<bool>,
}

fn lie() -> impl Strategy<Value = Lie> {
    let order = prop::collection::vec(any::<Index>(), 4);
    let flags = || prop::collection::vec(any::<bool>(), 4);
    (order, flags(), flags()).prop_map(|(order, backwards, gaps)| Lie {
        order,
        backwards,
        gaps,
    })
}

impl Lie {
    /// A tensor of a shape that lies so.
    fn empty<T: Number>(&self, shape: &[usize]) -> Tensor {
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

    fn tensor<T: Number>(&self, list: &List<T>) -> Tensor {
        let mut tensor = self.empty::<T>(&list.shape);
        let mut view = tensor.view_mut::<T>().unwrap();
        view.iter_mut()
            .zip(&list.elements)
            .for_each(|(to, from)| *to = *from);
        tensor
    }
}

fn list<T: Number>(shape: Vec<usize>) -> impl Strategy<Value = List<T>> {
    prop::collection::vec(any::<i8>(), shape.iter().product::<usize>()).prop_map(move |numbers| {
        List {
            shape: shape.clone(),
            elements: numbers.into_iter().map(T::of).collect(),
        }
    })
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 3 => Just(1), 6 => 2..=4_usize]
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(size(), 0..=3)
}

/// Two shapes, mostly such as can be broadcast: parts of one, with ones.
fn two_shapes() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
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

fn two<T: Number>() -> impl Strategy<Value = (List<T>, List<T>)> {
    two_shapes().prop_flat_map(|(a, b)| (list(a), list(b)))
}

fn same<T: Number>() -> impl Strategy<Value = (List<T>, List<T>)> {
    prop_oneof![5 => shape().prop_flat_map(|shape| (list(shape.clone()), list(shape))), 1 => two()]
}

fn matrices<T: Number>() -> impl Strategy<Value = (List<T>, List<T>)> {
    let fit = [size(), size(), size()];
    let fit = fit.prop_flat_map(|[m, k, n]| (list(vec![m, k]), list(vec![k, n])));
    prop_oneof![5 => fit, 1 => two()]
}

fn tested<T: Number>(made: Result<Tensor, dlbridge::kernel::CallError>) -> Option<List<T>> {
    let made = made.ok()?;
    assert!(made.layout().is_contiguous());
    Some(List::of(&made))
}

macro_rules! of_each_type {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            proptest! {
                #![proptest_config(cases(100))]

                #[test]
                fn add((a, b) in two::<T>(), lies in [lie(), lie(), lie()]) {
                    let (x, y) = (lies[0].tensor(&a), lies[1].tensor(&b));
                    let expected = a.add(&b);
                    prop_assert_eq!(tested(ops::add(&x, &y)), expected.clone());
                    if let Some(sum) = expected {
                        let mut out = lies[2].empty::<T>(&sum.shape);
                        let add = Registry::global().op("add").unwrap();
                        add.call().input(&x).input(&y).output(&mut out).run().unwrap();
                        prop_assert_eq!(List::of(&out), sum);
                    }
                }

                #[test]
                fn axpy((x, y) in same::<T>(), alpha in any::<i8>(), lies in [lie(), lie()]) {
                    let (mut to, from) = (lies[0].tensor(&y), lies[1].tensor(&x));
                    let done = ops::axpy(T::of(alpha), &from, &mut to);
                    let expected = y.axpy(T::of(alpha), &x);
                    prop_assert_eq!(done.is_ok(), expected.is_some());
                    prop_assert_eq!(List::of(&to), expected.unwrap_or(y));
                }

                #[test]
                fn matmul((a, b) in matrices::<T>(), lies in [lie(), lie()]) {
                    let product = ops::matmul(&lies[0].tensor(&a), &lies[1].tensor(&b));
                    prop_assert_eq!(tested(product), a.matmul(&b));
                }

                #[test]
                fn sum(
                    x in shape().prop_flat_map(list::<T>),
                    axes in prop::collection::vec(-4..4_i64, 0..=3),
                    keeps in any::<bool>(),
                    lie in lie(),
                ) {
                    let sum = ops::sum(&lie.tensor(&x), &axes, keeps);
                    prop_assert_eq!(tested(sum), x.sum(&axes, keeps));
                }
            }
        }
    )*};
}

of_each_type! {
    of_f32: f32;
    of_f64: f64;
    of_f16: f16;
    of_bf16: bf16;
    of_i8: i8;
    of_i16: i16;
    of_i32: i32;
    of_i64: i64;
    of_u8: u8;
    of_u16: u16;
    of_u32: u32;
    of_u64: u64;
}

#[test]
fn inputs_may_be_repeated() {
    let one = Tensor::from([3_i32]).broadcast_to(&[2, 4]).unwrap();
    let sum = ops::add(&one, &one).unwrap();
    assert_eq!(sum.to_vec::<i32>().unwrap(), [6; 8]);
    assert_eq!(
        ops::sum(&one, &[1], false)
            .unwrap()
            .to_vec::<i32>()
            .unwrap(),
        [12; 2]
    );
    let product = ops::matmul(&one, &one.transpose()).unwrap();
    assert_eq!(product.to_vec::<i32>().unwrap(), [36; 4]);
}
