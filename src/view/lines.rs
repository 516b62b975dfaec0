//! Iteration over lines: all elements along one axis at a time, in the order of the other indices.
//!
//! ```
//! use dlbridge::Tensor;
//!
//! let mut tensor = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]]);
//! let columns = tensor.view::<f32>()?.lines(0).map(|line| line.iter().sum::<f32>());
//! assert_eq!(columns.collect::<Vec<_>>(), [9.0, 12.0]);
//!
//! // Lines that turn out to be contiguous, as slices.
//! let mut view = tensor.view_mut::<f32>()?;
//! if let Some(rows) = view.rows_mut().into_slices() {
//!     rows.for_each(|row| row.swap(0, 1));
//! }
//! assert_eq!(tensor.to_vec::<f32>()?, [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]);
//! # Ok::<(), dlbridge::Error>(())
//! ```

#[cfg(feature = "python")]
use super::arrangement::Arrangement;
use super::dims::Dims;
use super::line::{Line, LineItem, LineMut, StridedLine};
use super::{View, ViewMut};
use crate::dtype::Element;
use crate::layout::{LayoutError, LayoutRef};
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The lines of a view along one axis, in the order of the other indices, the last one changing
/// fastest.
///
/// An item is a [`Line`], a [`LineMut`], or a slice.
pub struct Lines<I, D> {
    /// The view's element of index 0, whose type is the item's.
    first: NonNull<()>,
    dims: D,
    axis: usize,
    /// Length and stride of each line.
    len: usize,
    stride: isize,
    /// The lines that are left.
    start: usize,
    end: usize,
    /// How many lines follow each other with `step` between them, before an outer index changes.
    period: usize,
    step: isize,
    /// Offset of the next line, and for how many lines it is known.
    offset: isize,
    ahead: usize,
    items: PhantomData<I>,
}

// SAFETY: it is the items that it will give out, which may be sent.
unsafe impl<I: Send, D: Send> Send for Lines<I, D> {}
// SAFETY: a shared reference to it gives out no items, unless by a clone, whose items are `Sync`
// and `Copy`: shared references.
unsafe impl<I: Sync, D: Sync> Sync for Lines<I, D> {}

impl<I: Copy, D: Copy> Clone for Lines<I, D> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<I: LineItem, D: Dims> Lines<I, D> {
    /// Prepares the lines along `axis` of a view.
    ///
    /// # Safety
    ///
    /// `first` and `dims` are of a view whose elements may be used as those of items, and aren't
    /// used otherwise while items to be written through live. If items are slices,
    /// [`are_contiguous`](Self::are_contiguous) must hold of the result.
    #[inline]
    pub(super) unsafe fn new(
        first: NonNull<I::Element>,
        dims: D,
        axis: usize,
    ) -> Result<Self, LayoutError> {
        let layout = dims.as_layout();
        let rank = layout.rank();
        if axis >= rank {
            return Err(LayoutError::NoSuchAxis { axis, rank });
        }
        let (mut count, mut period, mut step, mut is_open) = (1_usize, 1_usize, 0_isize, true);
        for (at, (size, stride)) in layout.dims().enumerate().rev() {
            if at == axis || size == 1 {
                continue;
            }
            count *= size;
            if is_open && period <= 1 {
                (period, step) = (size, stride);
            } else if is_open && step.checked_mul(period as isize) == Some(stride) {
                period *= size;
            } else {
                is_open = false;
            }
        }
        Ok(Self {
            first: first.cast(),
            axis,
            len: layout.shape()[axis],
            stride: layout.strides()[axis],
            dims,
            start: 0,
            end: count,
            period,
            step,
            offset: 0,
            ahead: 0,
            items: PhantomData,
        })
    }

    /// Returns the offset of a line, in elements.
    fn locate(&self, mut line: usize) -> isize {
        let mut offset = 0_isize;
        for (at, (size, stride)) in self.dims.as_layout().dims().enumerate().rev() {
            if at != self.axis {
                // Strides of an empty layout may be any numbers.
                let part = (line % size).cast_signed().wrapping_mul(stride);
                offset = offset.wrapping_add(part);
                line /= size;
            }
        }
        offset
    }

    #[inline]
    fn item(&self, offset: isize) -> I {
        let mut first = self.first.cast::<I::Element>();
        if self.len != 0 {
            // SAFETY: the line has elements, and its other indices are below their sizes, so the
            // layout leads there.
            first = unsafe { first.offset(offset) };
        }
        // SAFETY: the line is one of the view's, whose elements may be used so, and each line is
        // given out once; if items are slices, `new` was called for contiguous lines.
        unsafe { I::new(first, self.len, self.stride) }
    }

    /// Returns whether each line's elements are contiguous.
    #[inline]
    fn are_contiguous(&self) -> bool {
        self.len <= 1 || self.stride == 1 || self.start == self.end
    }

    /// Returns how many elements a line has.
    #[inline]
    pub fn line_len(&self) -> usize {
        self.len
    }

    /// Returns the lines before and from `index`, counted among those that are left.
    #[cfg(feature = "rayon")]
    pub(super) fn divide(mut self, index: usize) -> (Self, Self) {
        assert!(index <= self.end - self.start, "no line {index}");
        let middle = self.start + index;
        let second = Self {
            start: middle,
            ahead: 0,
            ..self
        };
        self.end = middle;
        (self, second)
    }
}

impl<I: StridedLine, D: Dims> Lines<I, D> {
    /// Returns the lines as slices, if each is contiguous.
    #[inline]
    pub fn into_slices(self) -> Option<Lines<I::Slice, D>> {
        let are_contiguous = self.are_contiguous();
        are_contiguous.then_some(Lines {
            first: self.first,
            dims: self.dims,
            axis: self.axis,
            len: self.len,
            stride: self.stride,
            start: self.start,
            end: self.end,
            period: self.period,
            step: self.step,
            offset: self.offset,
            ahead: self.ahead,
            items: PhantomData,
        })
    }
}

impl<I: LineItem, D: Dims> Iterator for Lines<I, D> {
    type Item = I;

    #[inline]
    fn next(&mut self) -> Option<I> {
        if self.start == self.end {
            return None;
        }
        if self.ahead == 0 {
            self.offset = self.locate(self.start);
            self.ahead = self.period - self.start % self.period;
        }
        let item = self.item(self.offset);
        // The offset behind the last line isn't used, and may be anything.
        self.offset = self.offset.wrapping_add(self.step);
        self.ahead -= 1;
        self.start += 1;
        Some(item)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.start;
        (left, Some(left))
    }

    #[inline]
    fn nth(&mut self, n: usize) -> Option<I> {
        self.start = self.start.saturating_add(n).min(self.end);
        self.ahead = 0;
        self.next()
    }
}

impl<I: LineItem, D: Dims> DoubleEndedIterator for Lines<I, D> {
    #[inline]
    fn next_back(&mut self) -> Option<I> {
        if self.start == self.end {
            return None;
        }
        self.end -= 1;
        Some(self.item(self.locate(self.end)))
    }
}

impl<I: LineItem, D: Dims> ExactSizeIterator for Lines<I, D> {}
impl<I: LineItem, D: Dims> FusedIterator for Lines<I, D> {}

impl<I, D: fmt::Debug> fmt::Debug for Lines<I, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("axis", &self.axis)
            .field("len", &self.len)
            .field("left", &(self.start..self.end))
            .finish_non_exhaustive()
    }
}

#[cold]
#[track_caller]
pub(super) fn refuse(error: &LayoutError) -> ! {
    panic!("{error}")
}

impl<'a, T: Element, D: Dims> View<'a, T, D> {
    /// Returns the lines along `axis`: for each combination of the other indices, the last one
    /// changing fastest, the elements along it.
    ///
    /// # Panics
    ///
    /// When there is no such axis.
    #[inline]
    #[track_caller]
    pub fn lines(&self, axis: usize) -> Lines<Line<'a, T>, D> {
        // SAFETY: the view's elements may be read while `'a` lasts.
        unsafe { Lines::new(self.first, self.layout, axis) }.unwrap_or_else(|error| refuse(&error))
    }
}

impl<T: Element, D: Dims> ViewMut<'_, T, D> {
    /// Returns the lines along `axis`, to be written: see [`View::lines`].
    ///
    /// # Panics
    ///
    /// When there is no such axis.
    #[inline]
    #[track_caller]
    pub fn lines_mut(&mut self, axis: usize) -> Lines<LineMut<'_, T>, D> {
        // SAFETY: nothing else uses the view's elements while it is borrowed, and no two are at one
        // place, so that lines are disjoint.
        unsafe { Lines::new(self.first, self.layout, axis) }.unwrap_or_else(|error| refuse(&error))
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Returns the rows: the lines along the last axis.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[inline]
    #[track_caller]
    pub fn rows(&self) -> Lines<Line<'a, T>, LayoutRef<'a>> {
        self.lines(self.rank().saturating_sub(1))
    }

    /// Returns the rows of a view whose strides were found to satisfy `L`.
    #[cfg(feature = "python")]
    #[inline]
    #[track_caller]
    pub(crate) fn rows_as<L: Arrangement>(&self) -> Lines<L::Row<'a, T>, LayoutRef<'a>> {
        assert!(L::accepts(self.layout), "elements {}", L::WANTED);
        // SAFETY: the view's elements may be read while `'a` lasts; where items are slices, `L`
        // has the last axis contiguous.
        unsafe { Lines::new(self.first, self.layout, self.rank().saturating_sub(1)) }
            .unwrap_or_else(|error| refuse(&error))
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Returns the rows, to be written: the lines along the last axis.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[inline]
    #[track_caller]
    pub fn rows_mut(&mut self) -> Lines<LineMut<'_, T>, LayoutRef<'a>> {
        self.lines_mut(self.rank().saturating_sub(1))
    }

    /// Returns the rows of a view whose strides were found to satisfy `L`, to be written.
    #[cfg(feature = "python")]
    #[inline]
    #[track_caller]
    pub(crate) fn into_rows_as<L: Arrangement>(self) -> Lines<L::RowMut<'a, T>, LayoutRef<'a>> {
        assert!(L::accepts(self.layout), "elements {}", L::WANTED);
        // SAFETY: nothing else uses the view's elements while `'a` lasts, and no two are at one
        // place, so that rows are disjoint; where items are slices, `L` has the last axis
        // contiguous.
        unsafe { Lines::new(self.first, self.layout, self.rank().saturating_sub(1)) }
            .unwrap_or_else(|error| refuse(&error))
    }
}
