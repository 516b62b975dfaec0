//! Lines and chunks of views in parallel, by the threads of `rayon`.
//!
//! ```
//! use dlbridge::Tensor;
//! use rayon::prelude::*;
//!
//! let x = Tensor::from([[1.0_f32, 3.0], [2.0, 2.0], [5.0, 3.0]]);
//! let mut y = Tensor::full(&[3, 2], 0.0_f32)?;
//! let mut out = y.view_mut::<f32>()?;
//! // An input's lines with an output's.
//! x.view::<f32>()?.par_lines(1).zip(out.par_lines_mut(1)).for_each(|(x, mut y)| {
//!     let sum: f32 = x.iter().sum();
//!     x.iter().zip(y.iter_mut()).for_each(|(x, y)| *y = x / sum);
//! });
//! assert_eq!(y.to_vec::<f32>()?, [0.25, 0.75, 0.5, 0.5, 0.625, 0.375]);
//! # Ok::<(), dlbridge::Error>(())
//! ```
//!
//! # Small work
//!
//! Splitting takes longer than small work does. A task gets lines or chunks of [`MIN_ELEMENTS`]
//! elements together, if there are as many, so that what is smaller runs on the thread that calls;
//! [`with_min_elements`](Parallel::with_min_elements) sets another number, for functions that are
//! slower for each element than arithmetic.
//!
//! # Which threads
//!
//! This is for functions of your own in programs that use `rayon`, whose pool they then share. The
//! functions of [`compute`](crate::compute), and so the ops that come with the crate, have threads
//! of their own, which need no feature and follow the limits set for ops
//! ([`with_num_threads`](crate::compute::with_num_threads)). A kernel that is called from many
//! threads at once should use neither.

use super::arrangement::Arrangement;
use super::chunks::{ChunkItem, Chunks};
use super::dims::{Dims, Rank};
use super::line::{Line, LineItem, LineMut};
use super::lines::Lines;
use super::{View, ViewMut};
use crate::dtype::Element;
use rayon::iter::plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};

/// How many elements a task gets at least, unless an iterator says otherwise.
pub const MIN_ELEMENTS: usize = 1 << 14;

/// Parts of a view along an axis, for the threads of `rayon`.
pub type ParChunks<'a, T, const N: usize, L> =
    Parallel<Chunks<View<'a, T, Rank<N, <L as Arrangement>::Sliced>>, N, L>>;

/// Writable parts of a view along an axis, for the threads of `rayon`.
pub type ParChunksMut<'a, T, const N: usize, L> =
    Parallel<Chunks<ViewMut<'a, T, Rank<N, <L as Arrangement>::Sliced>>, N, L>>;

/// Lines or chunks, given out to the threads of `rayon`: an [`IndexedParallelIterator`].
#[derive(Debug, Clone)]
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct Parallel<I> {
    items: I,
    min_elements: usize,
}

impl<I> Parallel<I> {
    fn new(items: I) -> Self {
        Self {
            items,
            min_elements: MIN_ELEMENTS,
        }
    }

    /// Sets how many elements a task gets at least.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use rayon::prelude::*;
    ///
    /// let tensor = Tensor::from([[1, 2], [3, 4]]);
    /// let view = tensor.view::<i32>()?;
    /// // Each line takes long, so it is worth a task.
    /// let rows = view.par_rows().with_min_elements(1);
    /// assert_eq!(rows.map(|row| row.iter().sum::<i32>()).collect::<Vec<_>>(), [3, 7]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn with_min_elements(self, min_elements: usize) -> Self {
        Self {
            min_elements,
            ..self
        }
    }
}

/// Items that can be divided among threads.
trait Divide: DoubleEndedIterator + ExactSizeIterator + Send {
    /// Returns how many elements an item has.
    fn item_len(&self) -> usize;

    /// Returns the items before and from `index`.
    fn divide(self, index: usize) -> (Self, Self)
    where
        Self: Sized;
}

impl<I: LineItem + Send, D: Dims> Divide for Lines<I, D> {
    fn item_len(&self) -> usize {
        self.line_len()
    }

    fn divide(self, index: usize) -> (Self, Self) {
        self.divide(index)
    }
}

impl<V, const N: usize, L> Divide for Chunks<V, N, L>
where
    V: ChunkItem<N, L::Sliced> + Send,
    L: Arrangement,
{
    fn item_len(&self) -> usize {
        self.chunk_len()
    }

    fn divide(self, index: usize) -> (Self, Self) {
        self.divide(index)
    }
}

impl<I: Divide> Producer for Parallel<I> {
    type Item = I::Item;
    type IntoIter = I;

    fn into_iter(self) -> I {
        self.items
    }

    fn min_len(&self) -> usize {
        self.min_elements
            .div_ceil(self.items.item_len().max(1))
            .max(1)
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (left, right) = self.items.divide(index);
        let with = |items| Self {
            items,
            min_elements: self.min_elements,
        };
        (with(left), with(right))
    }
}

macro_rules! parallel {
    ([$($generics:tt)*] $Items:ty, $Item:ty) => {
        impl<$($generics)*> ParallelIterator for Parallel<$Items> {
            type Item = $Item;

            fn drive_unindexed<C: UnindexedConsumer<$Item>>(self, consumer: C) -> C::Result {
                bridge(self, consumer)
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.items.len())
            }
        }

        impl<$($generics)*> IndexedParallelIterator for Parallel<$Items> {
            fn len(&self) -> usize {
                self.items.len()
            }

            fn drive<C: Consumer<$Item>>(self, consumer: C) -> C::Result {
                bridge(self, consumer)
            }

            fn with_producer<CB: ProducerCallback<$Item>>(self, callback: CB) -> CB::Output {
                callback.callback(self)
            }
        }
    };
}

parallel!([I: LineItem + Send, D: Dims] Lines<I, D>, I);
parallel!([V: ChunkItem<N, L::Sliced> + Send, const N: usize, L: Arrangement] Chunks<V, N, L>, V);

impl<'a, T: Element, D: Dims> View<'a, T, D> {
    /// Returns the [`lines`](Self::lines) along `axis`, for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When there is no such axis.
    #[track_caller]
    pub fn par_lines(&self, axis: usize) -> Parallel<Lines<Line<'a, T>, D>> {
        Parallel::new(self.lines(axis))
    }
}

impl<T: Element, D: Dims> ViewMut<'_, T, D> {
    /// Returns the [`lines_mut`](Self::lines_mut) along `axis`, for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When there is no such axis.
    #[track_caller]
    pub fn par_lines_mut(&mut self, axis: usize) -> Parallel<Lines<LineMut<'_, T>, D>> {
        Parallel::new(self.lines_mut(axis))
    }
}

impl<I: LineItem, D: Dims> Lines<I, D> {
    /// Returns the same lines, for the threads of `rayon`.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use rayon::prelude::*;
    ///
    /// let mut tensor = Tensor::from([[3, 1, 2], [9, 7, 8]]);
    /// let mut view = tensor.view_mut::<i32>()?;
    /// let rows = view.rows_mut().into_slices().expect("contiguous rows");
    /// rows.into_par().for_each(|row| row.sort());
    /// assert_eq!(tensor.to_vec::<i32>()?, [1, 2, 3, 7, 8, 9]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn into_par(self) -> Parallel<Self> {
        Parallel::new(self)
    }
}

impl<'a, T: Element> View<'a, T> {
    /// Returns the rows, for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[track_caller]
    pub fn par_rows(&self) -> Parallel<Lines<Line<'a, T>, crate::layout::LayoutRef<'a>>> {
        Parallel::new(self.rows())
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Returns the rows, to be written, for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[track_caller]
    pub fn par_rows_mut(
        &mut self,
    ) -> Parallel<Lines<LineMut<'_, T>, crate::layout::LayoutRef<'a>>> {
        Parallel::new(self.rows_mut())
    }
}

impl<'a, T: Element, const N: usize, L: Arrangement> View<'a, T, Rank<N, L>> {
    /// Returns the [`rows`](Self::rows), for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[track_caller]
    pub fn par_rows(&self) -> Parallel<Lines<L::Row<'a, T>, Rank<N, L>>> {
        Parallel::new(self.rows())
    }

    /// Returns the [`chunks`](Self::chunks) along `axis`, for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `size` is 0.
    #[track_caller]
    pub fn par_chunks(&self, axis: usize, size: usize) -> ParChunks<'a, T, N, L> {
        Parallel::new(self.chunks(axis, size))
    }
}

impl<T: Element, const N: usize, L: Arrangement> ViewMut<'_, T, Rank<N, L>> {
    /// Returns the [`rows_mut`](Self::rows_mut), for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When the view has no dimensions.
    #[track_caller]
    pub fn par_rows_mut(&mut self) -> Parallel<Lines<L::RowMut<'_, T>, Rank<N, L>>> {
        Parallel::new(self.rows_mut())
    }

    /// Returns the [`chunks_mut`](Self::chunks_mut) along `axis`, for the threads of `rayon`.
    ///
    /// # Panics
    ///
    /// When there is no such axis, or `size` is 0.
    #[track_caller]
    pub fn par_chunks_mut(&mut self, axis: usize, size: usize) -> ParChunksMut<'_, T, N, L> {
        Parallel::new(self.chunks_mut(axis, size))
    }
}
