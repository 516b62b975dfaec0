//! Parts of a view, and other orders of its dimensions. None of these copies.

use super::arrangement::Arrangement;
use super::dims::{Rank, RemoveAxis};
use super::lines::refuse;
use super::{View, ViewMut};
use crate::dtype::Element;
use crate::error::Error;
use crate::layout::{LayoutError, resolve_range};
use std::ops::RangeBounds;

/// The view of `Rank<N, L>`, with another lifetime.
type Part<'a, T, const N: usize, L> = View<'a, T, Rank<N, <L as Arrangement>::Sliced>>;
type PartMut<'a, T, const N: usize, L> = ViewMut<'a, T, Rank<N, <L as Arrangement>::Sliced>>;

/// Two parts of the dimensions, and the second one's offset.
type Halves<const N: usize, L> = (
    Rank<N, <L as Arrangement>::Sliced>,
    (Rank<N, <L as Arrangement>::Sliced>, isize),
);

impl<const N: usize, L: Arrangement> Rank<N, L> {
    /// Returns the part whose index along `axis` is in `range`, and its offset.
    #[inline]
    pub(super) fn slice(
        self,
        axis: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<(Rank<N, L::Sliced>, isize), LayoutError> {
        let (size, stride) = self.check_axis(axis)?;
        let range = resolve_range(range, size);
        if range.start > range.end || range.end > size {
            return Err(LayoutError::OutOfRange {
                axis,
                start: range.start,
                stop: range.end,
                size,
            });
        }
        let mut part = self.known_as();
        part.sizes[axis] = range.len();
        let offset = part.offset_of(range.start, stride);
        Ok((part, offset))
    }

    /// Returns the same dimensions in reverse.
    #[inline]
    pub(super) fn transposed(mut self) -> Rank<N, L::Transposed> {
        self.sizes.reverse();
        self.strides.reverse();
        self.known_as()
    }

    /// Returns the dimensions in another order: the new one at `i` is the old one at `axes[i]`.
    pub(super) fn permuted(self, axes: [usize; N]) -> Result<Rank<N>, LayoutError> {
        let is_permutation = (0..N).all(|axis| axes.contains(&axis));
        if !is_permutation {
            return Err(LayoutError::NotAPermutation {
                axes: axes.to_vec(),
                rank: N,
            });
        }
        let (sizes, strides) = (self.sizes, self.strides);
        Ok(Rank::new(
            axes.map(|axis| sizes[axis]),
            axes.map(|axis| strides[axis]),
        ))
    }

    fn halves(self, axis: usize, at: usize) -> Result<Halves<N, L>, LayoutError> {
        let (size, _) = self.check_axis(axis)?;
        if at > size {
            return Err(LayoutError::SplitOutOfBounds { axis, at, size });
        }
        Ok((self.slice(axis, ..at)?.0, self.slice(axis, at..)?))
    }
}

impl<'a, T: Element, const N: usize, L: Arrangement> View<'a, T, Rank<N, L>> {
    /// Returns the elements whose index along `axis` is `index`, without that axis.
    ///
    /// # Panics
    ///
    /// When there is no such axis or index: see [`try_select`](Self::try_select).
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// let view = tensor.view::<i32>()?.with_rank::<2>()?;
    /// assert_eq!(view.select(1, 2).to_vec(), [3, 6]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn select(&self, axis: usize, index: usize) -> View<'a, T, Smaller<N, L>>
    where
        Rank<N, L>: RemoveAxis,
    {
        let (dims, offset) = self
            .layout
            .select(axis, index)
            .unwrap_or_else(|error| refuse(&error));
        // SAFETY: the index is within the view, so the offset leads to its elements.
        unsafe { View::from_dims(self.first.offset(offset), dims) }
    }

    /// Returns the same as [`select`](Self::select), or an error.
    ///
    /// # Errors
    ///
    /// When there is no such axis or index.
    #[inline]
    pub fn try_select(&self, axis: usize, index: usize) -> Result<View<'a, T, Smaller<N, L>>, Error>
    where
        Rank<N, L>: RemoveAxis,
    {
        let (dims, offset) = self.layout.select(axis, index)?;
        // SAFETY: the index is within the view, so the offset leads to its elements.
        Ok(unsafe { View::from_dims(self.first.offset(offset), dims) })
    }

    /// Returns the elements whose index along `axis` is in `range`.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or the range leaves it: see [`try_slice`](Self::try_slice).
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// let view = tensor.view::<i32>()?.with_rank::<2>()?;
    /// assert_eq!(view.slice(1, 1..).to_vec(), [2, 3, 5, 6]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Part<'a, T, N, L> {
        let (dims, offset) = self
            .layout
            .slice(axis, range)
            .unwrap_or_else(|error| refuse(&error));
        // SAFETY: the range is within the view, so the offset leads to its elements.
        unsafe { View::from_dims(self.first.offset(offset), dims) }
    }

    /// Returns the same as [`slice`](Self::slice), or an error.
    ///
    /// # Errors
    ///
    /// When there is no such axis, or the range leaves it.
    #[inline]
    pub fn try_slice(
        &self,
        axis: usize,
        range: impl RangeBounds<usize>,
    ) -> Result<Part<'a, T, N, L>, Error> {
        let (dims, offset) = self.layout.slice(axis, range)?;
        // SAFETY: the range is within the view, so the offset leads to its elements.
        Ok(unsafe { View::from_dims(self.first.offset(offset), dims) })
    }

    /// Returns the elements before index `at` along `axis`, and those from there on.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `at` is more than its size: see
    /// [`split_at_checked`](Self::split_at_checked).
    #[inline]
    #[track_caller]
    pub fn split_at(&self, axis: usize, at: usize) -> (Part<'a, T, N, L>, Part<'a, T, N, L>) {
        let halves = self.layout.halves(axis, at);
        self.pair(halves.unwrap_or_else(|error| refuse(&error)))
    }

    /// Returns the same as [`split_at`](Self::split_at); `None` where that would panic.
    #[inline]
    pub fn split_at_checked(
        &self,
        axis: usize,
        at: usize,
    ) -> Option<(Part<'a, T, N, L>, Part<'a, T, N, L>)> {
        let halves = self.layout.halves(axis, at).ok()?;
        Some(self.pair(halves))
    }

    #[inline]
    fn pair(&self, halves: Halves<N, L>) -> (Part<'a, T, N, L>, Part<'a, T, N, L>) {
        let (left, (right, offset)) = halves;
        // SAFETY: both are parts of the view.
        unsafe {
            (
                View::from_dims(self.first, left),
                View::from_dims(self.first.offset(offset), right),
            )
        }
    }

    /// Returns the same elements with the axes reversed.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    /// let view = tensor.view::<i32>()?.with_rank::<2>()?;
    /// assert_eq!(view.transpose()[[2, 1]], 6);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    pub fn transpose(&self) -> View<'a, T, Rank<N, L::Transposed>> {
        // SAFETY: the same elements in another order.
        unsafe { View::from_dims(self.first, self.layout.transposed()) }
    }

    /// Returns the same elements with the axes in another order: the new one at `i` is the old one
    /// at `axes[i]`.
    ///
    /// # Panics
    ///
    /// When `axes` doesn't name each axis once.
    #[inline]
    #[track_caller]
    pub fn permute(&self, axes: [usize; N]) -> View<'a, T, Rank<N>> {
        let dims = self.layout.permuted(axes);
        // SAFETY: the same elements in another order.
        unsafe { View::from_dims(self.first, dims.unwrap_or_else(|error| refuse(&error))) }
    }
}

/// Dimensions of a view without one of its axes.
type Smaller<const N: usize, L> = <Rank<N, L> as RemoveAxis>::Smaller;

impl<T: Element, const N: usize, L: Arrangement> ViewMut<'_, T, Rank<N, L>> {
    /// Returns the elements whose index along `axis` is `index`, without that axis.
    ///
    /// # Panics
    ///
    /// When there is no such axis or index.
    #[inline]
    #[track_caller]
    pub fn select_mut(&mut self, axis: usize, index: usize) -> ViewMut<'_, T, Smaller<N, L>>
    where
        Rank<N, L>: RemoveAxis,
    {
        let (dims, offset) = self
            .layout
            .select(axis, index)
            .unwrap_or_else(|error| refuse(&error));
        // SAFETY: the index is within the view, so the offset leads to its elements; `self` is
        // borrowed meanwhile.
        unsafe { ViewMut::from_dims(self.first.offset(offset), dims) }
    }

    /// Returns the elements whose index along `axis` is in `range`.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or the range leaves it.
    #[inline]
    #[track_caller]
    pub fn slice_mut(
        &mut self,
        axis: usize,
        range: impl RangeBounds<usize>,
    ) -> PartMut<'_, T, N, L> {
        let (dims, offset) = self
            .layout
            .slice(axis, range)
            .unwrap_or_else(|error| refuse(&error));
        // SAFETY: the range is within the view, so the offset leads to its elements; `self` is
        // borrowed meanwhile.
        unsafe { ViewMut::from_dims(self.first.offset(offset), dims) }
    }

    /// Returns the elements before index `at` along `axis`, and those from there on.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `at` is more than its size: see
    /// [`split_at_mut_checked`](Self::split_at_mut_checked).
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let mut tensor = Tensor::from([[1, 2, 3, 4], [5, 6, 7, 8]]);
    /// let mut view = tensor.view_mut::<i32>()?.with_rank::<2>()?;
    /// let (left, mut right) = view.split_at_mut(1, 2);
    /// for (from, to) in left.iter().zip(right.iter_mut()) {
    ///     *to += from;
    /// }
    /// assert_eq!(tensor.to_vec::<i32>()?, [1, 2, 4, 6, 5, 6, 12, 14]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn split_at_mut(
        &mut self,
        axis: usize,
        at: usize,
    ) -> (PartMut<'_, T, N, L>, PartMut<'_, T, N, L>) {
        let halves = self.layout.halves(axis, at);
        self.pair_mut(halves.unwrap_or_else(|error| refuse(&error)))
    }

    /// Returns the same as [`split_at_mut`](Self::split_at_mut); `None` where that would panic.
    #[inline]
    pub fn split_at_mut_checked(
        &mut self,
        axis: usize,
        at: usize,
    ) -> Option<(PartMut<'_, T, N, L>, PartMut<'_, T, N, L>)> {
        let halves = self.layout.halves(axis, at).ok()?;
        Some(self.pair_mut(halves))
    }

    #[inline]
    fn pair_mut(&mut self, halves: Halves<N, L>) -> (PartMut<'_, T, N, L>, PartMut<'_, T, N, L>) {
        let (left, (right, offset)) = halves;
        // SAFETY: both are parts of the view, which is borrowed meanwhile. No index is in both,
        // and no two elements of a view to be written through are at one place.
        unsafe {
            (
                ViewMut::from_dims(self.first, left),
                ViewMut::from_dims(self.first.offset(offset), right),
            )
        }
    }

    /// Returns the same elements with the axes reversed.
    #[inline]
    pub fn transpose_mut(&mut self) -> ViewMut<'_, T, Rank<N, L::Transposed>> {
        // SAFETY: the same elements in another order; `self` is borrowed meanwhile.
        unsafe { ViewMut::from_dims(self.first, self.layout.transposed()) }
    }

    /// Returns the same elements with the axes in another order: see [`View::permute`].
    ///
    /// # Panics
    ///
    /// When `axes` doesn't name each axis once.
    #[inline]
    #[track_caller]
    pub fn permute_mut(&mut self, axes: [usize; N]) -> ViewMut<'_, T, Rank<N>> {
        let dims = self.layout.permuted(axes);
        // SAFETY: the same elements in another order; `self` is borrowed meanwhile.
        unsafe { ViewMut::from_dims(self.first, dims.unwrap_or_else(|error| refuse(&error))) }
    }
}
