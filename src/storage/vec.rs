//! `Vec` as an owner: a pointer and a capacity.

use super::owner::SmallOwner;
use crate::dtype::Element;
use std::mem::ManuallyDrop;
use std::ptr;

// SAFETY: twice a capacity is even, and no capacity is too large to be doubled, unless elements
// took no memory; those of a tensor do.
unsafe impl<T: Element> SmallOwner for Vec<T> {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        let mut vec = ManuallyDrop::new(self);
        let capacity = ptr::without_provenance_mut(2 * vec.capacity());
        [capacity, vec.as_mut_ptr().cast()]
    }

    #[inline]
    unsafe fn from_words([capacity, pointer]: [*mut (); 2]) -> Self {
        // SAFETY: pointer and capacity are those of a vector. Its elements need no dropping, so
        // that it may be an empty one.
        unsafe { Self::from_raw_parts(pointer.cast(), 0, capacity.addr() / 2) }
    }
}
