//! What the tests of all crates share.

#![allow(dead_code, reason = "each test uses some of it")]

use dlbridge::error::{Error, IncompatibilityKind};
use dlbridge::{Element, Storage, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the kind of what went wrong.
pub fn kind(error: impl Into<Error>) -> IncompatibilityKind {
    error.into().incompatibility().kind
}

/// An owner of elements that counts how often one was dropped.
pub struct Counted<T> {
    elements: Vec<T>,
    drops: Arc<AtomicUsize>,
}

impl<T> AsRef<[T]> for Counted<T> {
    fn as_ref(&self) -> &[T] {
        &self.elements
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns a tensor of memory that isn't a vector's, and the number of times that it was released.
pub fn counted<T: Element>(elements: Vec<T>, shape: &[usize]) -> (Tensor, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    let owner = Counted {
        elements,
        drops: drops.clone(),
    };
    (Tensor::from_owner::<T>(owner, shape).unwrap(), drops)
}

/// Returns a tensor whose elements begin one byte too late for their type.
pub fn misaligned(len: usize) -> Tensor {
    let storage = Storage::from_vec(vec![0_u64; len + 1]);
    let part = storage.slice(1..8 * len + 1);
    Tensor::from_storage(part, &[len], dlbridge::DType::F64).unwrap()
}
