//! Iteration over parts of a view along one axis, each of the same size but the last.

use super::arrangement::Arrangement;
use super::dims::Rank;
use super::lines::refuse;
use super::{View, ViewMut};
use crate::dtype::Element;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Parts of a view along one axis: [`View`]s, or [`ViewMut`]s.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
///
/// let mut tensor = Tensor::from([1, 2, 3, 4, 5]);
/// let mut view = tensor.view_mut::<i32>()?.with_rank::<1>()?;
/// for (number, mut chunk) in view.chunks_mut(0, 2).enumerate() {
///     chunk.fill(number as i32);
/// }
/// assert_eq!(tensor.to_vec::<i32>()?, [0, 0, 1, 1, 2]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
pub struct Chunks<V, const N: usize, L> {
    /// The view's element of index 0, whose type is the item's.
    first: NonNull<()>,
    dims: Rank<N, L>,
    axis: usize,
    /// How many indices a part has along the axis.
    size: usize,
    /// The parts that are left.
    start: usize,
    end: usize,
    parts: PhantomData<V>,
}

// SAFETY: it is the parts that it will give out, which may be sent.
unsafe impl<V: Send, const N: usize, L> Send for Chunks<V, N, L> {}
// SAFETY: a shared reference to it gives out no parts, unless by a clone, whose parts are shared
// references.
unsafe impl<V: Sync, const N: usize, L> Sync for Chunks<V, N, L> {}

impl<V: Copy, const N: usize, L: Copy> Clone for Chunks<V, N, L> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// A part of a view, given out by an iterator.
pub trait ChunkItem<const N: usize, L: Arrangement>: sealed::Sealed {
    #[doc(hidden)]
    type Element: Element;

    /// Creates a part.
    ///
    /// # Safety
    ///
    /// What [`View::from_raw`] or [`ViewMut::from_raw`] asks for.
    #[doc(hidden)]
    unsafe fn new(first: NonNull<Self::Element>, dims: Rank<N, L>) -> Self;
}

impl<V, const N: usize, L: Arrangement> Chunks<V, N, L> {
    /// Prepares the parts of a view.
    ///
    /// # Safety
    ///
    /// `first` and `dims` are of a view whose elements may be used as those of items, and aren't
    /// used otherwise while items to be written through live.
    #[inline]
    #[track_caller]
    unsafe fn new(first: NonNull<()>, dims: Rank<N, L>, axis: usize, size: usize) -> Self {
        assert!(size != 0, "chunk size must be non-zero");
        let checked = dims.check_axis(axis);
        let (whole, _) = checked.unwrap_or_else(|error| refuse(&error));
        Self {
            first,
            dims,
            axis,
            size,
            start: 0,
            end: whole.div_ceil(size),
            parts: PhantomData,
        }
    }

    /// Returns how many elements a part has, but the last.
    #[cfg(feature = "rayon")]
    pub(super) fn chunk_len(&self) -> usize {
        let mut sizes = self.dims.sizes;
        sizes[self.axis] = sizes[self.axis].min(self.size);
        sizes.iter().product()
    }

    /// Returns the parts before and from `index`, counted among those that are left.
    #[cfg(feature = "rayon")]
    pub(super) fn divide(mut self, index: usize) -> (Self, Self) {
        assert!(index <= self.end - self.start, "no part {index}");
        let middle = self.start + index;
        let second = Self {
            start: middle,
            ..self
        };
        self.end = middle;
        (self, second)
    }
}

impl<V: ChunkItem<N, L::Sliced>, const N: usize, L: Arrangement> Chunks<V, N, L> {
    #[inline]
    fn part(&self, at: usize) -> V {
        let whole = self.dims.sizes[self.axis];
        let start = at * self.size;
        let range = start..whole.min(start.saturating_add(self.size));
        let part = self.dims.slice(self.axis, range);
        let (dims, offset) = part.unwrap_or_else(|error| refuse(&error));
        // SAFETY: the range is within the view, so the offset leads to its elements, which may be
        // used as those of an item; each part is given out once, and no index is in two.
        unsafe { V::new(self.first.cast::<V::Element>().offset(offset), dims) }
    }
}

impl<V: ChunkItem<N, L::Sliced>, const N: usize, L: Arrangement> Iterator for Chunks<V, N, L> {
    type Item = V;

    #[inline]
    fn next(&mut self) -> Option<V> {
        if self.start == self.end {
            return None;
        }
        let part = self.part(self.start);
        self.start += 1;
        Some(part)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.start;
        (left, Some(left))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<V> {
        self.start = self.start.saturating_add(n).min(self.end);
        self.next()
    }
}

impl<V: ChunkItem<N, L::Sliced>, const N: usize, L: Arrangement> DoubleEndedIterator
    for Chunks<V, N, L>
{
    #[inline]
    fn next_back(&mut self) -> Option<V> {
        if self.start == self.end {
            return None;
        }
        self.end -= 1;
        Some(self.part(self.end))
    }
}

impl<V: ChunkItem<N, L::Sliced>, const N: usize, L: Arrangement> ExactSizeIterator
    for Chunks<V, N, L>
{
}
impl<V: ChunkItem<N, L::Sliced>, const N: usize, L: Arrangement> FusedIterator for Chunks<V, N, L> {}

impl<V, const N: usize, L> fmt::Debug for Chunks<V, N, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks")
            .field("axis", &self.axis)
            .field("size", &self.size)
            .field("left", &(self.start..self.end))
            .finish_non_exhaustive()
    }
}

macro_rules! item {
    ($View:ident) => {
        impl<T: Element, const N: usize, L: Arrangement> ChunkItem<N, L>
            for $View<'_, T, Rank<N, L>>
        {
            type Element = T;

            #[inline]
            unsafe fn new(first: NonNull<T>, dims: Rank<N, L>) -> Self {
                // SAFETY: the caller gives elements that may be used so.
                unsafe { $View::from_dims(first, dims) }
            }
        }

        impl<T, const N: usize, L> sealed::Sealed for $View<'_, T, Rank<N, L>> {}
    };
}

item!(View);
item!(ViewMut);

impl<'a, T: Element, const N: usize, L: Arrangement> View<'a, T, Rank<N, L>> {
    /// Returns the parts of `size` indices along `axis`, the last of which may have fewer.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `size` is 0.
    #[inline]
    #[track_caller]
    pub fn chunks(
        &self,
        axis: usize,
        size: usize,
    ) -> Chunks<View<'a, T, Rank<N, L::Sliced>>, N, L> {
        // SAFETY: the view's elements may be read while `'a` lasts.
        unsafe { Chunks::new(self.first.cast(), self.layout, axis, size) }
    }
}

impl<T: Element, const N: usize, L: Arrangement> ViewMut<'_, T, Rank<N, L>> {
    /// Returns the parts of `size` indices along `axis`, to be written: see [`View::chunks`].
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `size` is 0.
    #[inline]
    #[track_caller]
    pub fn chunks_mut(
        &mut self,
        axis: usize,
        size: usize,
    ) -> Chunks<ViewMut<'_, T, Rank<N, L::Sliced>>, N, L> {
        // SAFETY: nothing else uses the view's elements while it is borrowed, and no two are at
        // one place, so that parts are disjoint.
        unsafe { Chunks::new(self.first.cast(), self.layout, axis, size) }
    }
}

mod sealed {
    pub trait Sealed {}
}
