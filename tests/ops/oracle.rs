//! What the ops do, said as plainly as can be: by index, over lists of numbers.

use dlbridge::{Element, Tensor};
use half::{bf16, f16};

/// A tensor as a list: the shape, and the elements in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Vec<T>,
}

/// Numbers, with the arithmetic that the ops promise.
pub(crate) trait Number: Element + PartialEq + std::fmt::Debug {
    fn of(small: i8) -> Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn sum(all: impl Iterator<Item = Self>) -> Self;
    fn sum_of_products(all: impl Iterator<Item = (Self, Self)>) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn of(small: i8) -> Self {
                small as $ty
            }
            // As wide as can be, and then cut off.
            fn plus(self, other: Self) -> Self {
                (self as i128 + other as i128) as $ty
            }
            fn times(self, other: Self) -> Self {
                (self as i128).wrapping_mul(other as i128) as $ty
            }
            fn sum(all: impl Iterator<Item = Self>) -> Self {
                all.map(|x| x as i128).sum::<i128>() as $ty
            }
            fn sum_of_products(all: impl Iterator<Item = (Self, Self)>) -> Self {
                all.fold(0, |sum: i128, (a, b)| {
                    sum.wrapping_add((a as i128).wrapping_mul(b as i128))
                }) as $ty
            }
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty, $Sum:ty, $from:expr, $up:expr, $down:expr;)*) => {$(
        impl Number for $ty {
            fn of(small: i8) -> Self {
                let from: fn(i8) -> $ty = $from;
                from(small)
            }
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn sum(all: impl Iterator<Item = Self>) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(all.fold(0.0, |sum, x| sum + up(x)))
            }
            fn sum_of_products(all: impl Iterator<Item = (Self, Self)>) -> Self {
                let (up, down): (fn($ty) -> $Sum, fn($Sum) -> $ty) = ($up, $down);
                down(all.fold(0.0, |sum, (a, b)| sum + up(a) * up(b)))
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats! {
    f16, f32, |x| f16::from_f32(x.into()), f16::to_f32, f16::from_f32;
    bf16, f32, |x| bf16::from_f32(x.into()), bf16::to_f32, bf16::from_f32;
    f32, f64, |x| f32::from(x) / 8.0, f64::from, |sum| sum as f32;
    f64, f64, |x| f64::from(x) / 8.0, |x| x, |sum| sum;
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

    fn at(&self, index: &[usize]) -> T {
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

    pub(crate) fn add(&self, other: &Self) -> Option<Self> {
        let shape = broadcast(&self.shape, &other.shape)?;
        let sum = |index: &[usize]| self.at_broadcast(index).plus(other.at_broadcast(index));
        Some(Self::from_fn(&shape, sum))
    }

    pub(crate) fn axpy(&self, alpha: T, x: &Self) -> Option<Self> {
        let sum = |index: &[usize]| self.at(index).plus(alpha.times(x.at(index)));
        (self.shape == x.shape).then(|| Self::from_fn(&self.shape, sum))
    }

    pub(crate) fn matmul(&self, other: &Self) -> Option<Self> {
        let (&[rows, inner], &[other_inner, columns]) = (&self.shape[..], &other.shape[..]) else {
            return None;
        };
        let element = |index: &[usize]| {
            let pairs = (0..inner).map(|k| (self.at(&[index[0], k]), other.at(&[k, index[1]])));
            T::sum_of_products(pairs)
        };
        (inner == other_inner).then(|| Self::from_fn(&[rows, columns], element))
    }

    /// The sum along some axes, which all are if none is given.
    pub(crate) fn sum(&self, axes: &[i64], keeps: bool) -> Option<Self> {
        let rank = self.shape.len() as i64;
        let mut summed = vec![axes.is_empty(); self.shape.len()];
        for axis in axes {
            let axis = if *axis < 0 { axis + rank } else { *axis };
            let place = summed.get_mut(usize::try_from(axis).ok()?)?;
            if std::mem::replace(place, true) {
                return None;
            }
        }
        let kept = |(size, is_summed): (&usize, &bool)| if *is_summed { 1 } else { *size };
        let kept: Vec<_> = self.shape.iter().zip(&summed).map(kept).collect();
        let all = indices(&self.shape);
        let mut sum = Self::from_fn(&kept, |at| {
            let is_part = |index: &&Vec<usize>| {
                let mut dims = index.iter().zip(at).zip(&summed);
                dims.all(|((own, at), is_summed)| *is_summed || own == at)
            };
            T::sum(all.iter().filter(is_part).map(|index| self.at(index)))
        });
        if !keeps {
            let mut is_summed = summed.iter();
            sum.shape.retain(|_| !is_summed.next().unwrap());
        }
        Some(sum)
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
