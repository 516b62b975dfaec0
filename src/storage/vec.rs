//! `Vec` as an owner: a pointer and a capacity.

use super::Storage;
use super::owner::SmallOwner;
use crate::dtype::{Element, find_invalid_bool};
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

/// Why a vector stays in its storage.
#[derive(Debug)]
pub(crate) enum Stays {
    /// The memory's owner is another one, or used elsewhere.
    Owner,
    /// The memory begins or ends within an element.
    Part,
    /// A byte is no element.
    Value(u8),
}

impl Storage {
    /// Takes the vector out that owns the memory, if it is one of `T`s, this is the only handle,
    /// and the memory begins at a whole element of it. Returns, too, how many elements lie before
    /// the memory. The storage is empty afterwards.
    ///
    /// The vector holds the elements up to the end of the memory; if not every pattern of bits is a
    /// `T`, all of them were checked.
    pub(crate) fn take_vec<T: Element>(&mut self) -> Result<(Vec<T>, usize), Stays> {
        if !self.is_exclusive() {
            return Err(Stays::Owner);
        }
        let mut vec = self.owner.take::<Vec<T>>().ok_or(Stays::Owner)?;
        let size = size_of::<T>();
        let before = self.memory.data.addr() - vec.as_ptr().addr();
        let elements = (before + self.memory.bytes) / size;
        let whole = before.is_multiple_of(size) && self.memory.bytes.is_multiple_of(size);
        // SAFETY: the memory was lent by this vector, whose elements it consists of, up to its end;
        // those before it are initialised too, as the vector had them. As bytes, each of them may
        // be anything, which is looked at below.
        let bytes = unsafe { std::slice::from_raw_parts(vec.as_ptr().cast(), elements * size) };
        let invalid = match T::ANY_BITS {
            true => None,
            false => find_invalid_bool(bytes),
        };
        let stays = match invalid {
            _ if !whole => Some(Stays::Part),
            Some(value) => Some(Stays::Value(value)),
            None => None,
        };
        if let Some(stays) = stays {
            self.owner = super::Owner::small(vec);
            return Err(stays);
        }
        // SAFETY: `elements` elements are initialised, and values of `T`.
        unsafe { vec.set_len(elements) };
        *self = Self::empty(self.device());
        Ok((vec, before / size))
    }
}
