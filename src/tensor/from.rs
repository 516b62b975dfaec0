//! Tensors of arrays, vectors and iterators.

use super::Tensor;
use crate::dtype::Element;

/// A tensor of rank 1.
impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(array: [T; N]) -> Self {
        Self::from_slice(&array, &[N]).expect("memory for another array")
    }
}

/// A tensor of rank 2.
impl<T: Element, const N: usize, const M: usize> From<[[T; N]; M]> for Tensor {
    fn from(array: [[T; N]; M]) -> Self {
        Self::from_slice(array.as_flattened(), &[M, N]).expect("memory for another array")
    }
}

/// A tensor of rank 3.
impl<T: Element, const N: usize, const M: usize, const L: usize> From<[[[T; N]; M]; L]> for Tensor {
    fn from(array: [[[T; N]; M]; L]) -> Self {
        Self::from_slice(array.as_flattened().as_flattened(), &[L, M, N])
            .expect("memory for another array")
    }
}

/// A tensor of rank 1, which takes the vector over.
impl<T: Element> From<Vec<T>> for Tensor {
    fn from(vec: Vec<T>) -> Self {
        let shape = [vec.len()];
        Self::from_vec(vec, &shape).expect("a shape that was made for it")
    }
}

/// A tensor of rank 1.
impl<T: Element> FromIterator<T> for Tensor {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from(elements.into_iter().collect::<Vec<_>>())
    }
}
