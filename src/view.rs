//! Typed views: a tensor's elements, borrowed as the Rust type that they are.
//!
//! ```
//! use dlbridge::Tensor;
//!
//! let mut tensor = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//! let view = tensor.view::<f32>()?;
//! assert_eq!(view[[1, 0]], 3.0);
//! assert_eq!(view.iter().sum::<f32>(), 10.0);
//! assert_eq!(view.as_slice(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
//!
//! let mut view = tensor.view_mut::<f32>()?;
//! view[[1, 0]] = 5.0;
//! view.iter_mut().for_each(|x| *x *= 2.0);
//! assert_eq!(tensor.to_vec::<f32>()?, [2.0, 4.0, 10.0, 8.0]);
//! # Ok::<(), dlbridge::Error>(())
//! ```
//!
//! # Any rank, or a rank in the type
//!
//! | type | sizes and strides | has |
//! |---|---|---|
//! | `View<'a, T>` | borrowed ([`LayoutRef`]), of any rank | elements, [`lines`](View::lines), rows |
//! | `View<'a, T, Rank<2>>` | in the view ([`Rank`]) | also all that cuts a view: [`row`](View::row), [`select`](View::select), [`slice`](View::slice), [`split_at`](View::split_at), [`chunks`](View::chunks), [`transpose`](View::transpose) |
//! | `View<'a, T, Rank<2, ContiguousRows>>` | the same, and what is known of the strides ([`Arrangement`]) | also rows that are slices |
//!
//! [`with_rank`](View::with_rank) leads from the first to the second, which compares the rank;
//! [`arranged`](View::arranged) from the second to the third, which compares the strides. A
//! [`ViewMut`] has the same, named `row_mut` and so on; the parts that it is cut into are disjoint.
//!
//! ```
//! use dlbridge::Tensor;
//!
//! let tensor = Tensor::arange(0, 24, 1)?.reshape(&[2, 3, 4])?;
//! let view = tensor.view::<i32>()?.with_rank()?;
//! let [batch, rows, columns] = view.sizes();
//! assert_eq!((batch, rows, columns), (2, 3, 4));
//!
//! let matrix = view.select(0, 1); // one dimension fewer: Rank<2>
//! let (left, right) = matrix.split_at(1, 3);
//! assert_eq!(left.to_vec(), [12, 13, 14, 16, 17, 18, 20, 21, 22]);
//! assert_eq!(right.transpose().to_vec(), [15, 19, 23]);
//! # Ok::<(), dlbridge::Error>(())
//! ```
//!
//! # `as_slice` and `as_mut_slice`
//!
//! Wherever they are (views, arguments of Python functions), `as_slice` reads and `as_mut_slice`
//! writes. They return an `Option`, as only a look at the strides tells whether the elements are
//! contiguous; and the slice itself where the type says so, as with arguments that are
//! [`RowMajor`].

mod arrangement;
mod bytes;
mod chunks;
mod cut;
mod dims;
mod iter;
mod line;
mod lines;
#[cfg(feature = "rayon")]
mod parallel;
mod ranked;
mod rows;
mod shaped;

pub use arrangement::{Arrangement, ColumnMajor, ContiguousRows, Dense, RowMajor, Strided};
pub use chunks::{ChunkItem, Chunks};
pub use dims::{Dims, Rank, RemoveAxis, RowIndex};
pub use iter::{Iter, IterMut};
pub use line::{Line, LineItem, LineMut, StridedLine};
pub use lines::Lines;
#[cfg(feature = "rayon")]
pub use parallel::{MIN_ELEMENTS, ParChunks, ParChunksMut, Parallel};

use crate::dtype::Element;
use crate::layout::LayoutRef;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// Elements to be read.
///
/// # Examples
///
/// ```
/// use dlbridge::{Tensor, View};
///
/// fn largest(x: View<'_, f32>) -> f32 {
///     x.iter().copied().fold(f32::MIN, f32::max)
/// }
///
/// let tensor = Tensor::from([[1.0_f32, 5.0], [3.0, 4.0]]);
/// assert_eq!(largest(tensor.view()?), 5.0);
/// assert!(tensor.view::<f64>().is_err()); // another element type
/// # Ok::<(), dlbridge::Error>(())
/// ```
pub struct View<'a, T, D = LayoutRef<'a>> {
    /// The element of index 0; dangling where there is none.
    first: NonNull<T>,
    layout: D,
    elements: PhantomData<&'a T>,
}

/// Elements to be read and written.
///
/// No two of its elements are at one place, and no other code uses them.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
///
/// let mut tensor = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// tensor.view_mut::<f32>()?.iter_mut().for_each(|x| *x *= 2.0);
/// assert_eq!(tensor.to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
/// // Another handle to the same memory could read it meanwhile.
/// let other = tensor.clone();
/// assert!(tensor.view_mut::<f32>().is_err());
/// # drop(other);
/// # Ok::<(), dlbridge::Error>(())
/// ```
pub struct ViewMut<'a, T, D = LayoutRef<'a>> {
    first: NonNull<T>,
    layout: D,
    elements: PhantomData<&'a mut T>,
}

// SAFETY: it is a shared reference to elements, which may be sent as they are `Sync`.
unsafe impl<T: Element, D: Dims> Send for View<'_, T, D> {}
// SAFETY: a shared reference to it gives shared references to elements, which are `Sync`.
unsafe impl<T: Element, D: Dims> Sync for View<'_, T, D> {}
// SAFETY: it is an exclusive reference to elements, which may be sent as they are `Send`.
unsafe impl<T: Element, D: Dims> Send for ViewMut<'_, T, D> {}
// SAFETY: a shared reference to it gives shared references to elements, which are `Sync`.
unsafe impl<T: Element, D: Dims> Sync for ViewMut<'_, T, D> {}

impl<T, D: Copy> Clone for View<'_, T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, D: Copy> Copy for View<'_, T, D> {}

/// What both kinds of view have.
macro_rules! common {
    ($View:ident) => {
        impl<'a, T: Element> $View<'a, T> {
            /// Creates a view of elements at `first` and wherever the layout leads from there.
            ///
            /// # Safety
            ///
            /// While `'a` lasts, each element that the layout leads to is there, aligned, and a
            /// value of `T`; no code writes it, and for a view to be written through no other code
            /// reads it either, and no two elements are at one place.
            #[inline]
            pub unsafe fn from_raw(first: NonNull<T>, layout: LayoutRef<'a>) -> Self {
                // SAFETY: the caller gives elements that may be used so.
                unsafe { Self::from_dims(first, layout) }
            }

            /// Returns the shape.
            #[inline]
            pub fn shape(&self) -> &'a [usize] {
                self.layout.shape()
            }

            /// Returns the strides, counted in elements.
            #[inline]
            pub fn strides(&self) -> &'a [isize] {
                self.layout.strides()
            }

            /// Returns shape and strides.
            #[inline]
            pub fn layout(&self) -> LayoutRef<'a> {
                self.layout
            }

            /// Returns the offset of the element of that index; `None` if it is out of bounds.
            #[inline]
            fn locate(&self, index: &[usize]) -> Option<NonNull<T>> {
                if index.len() != self.rank() {
                    return None;
                }
                let mut offset = 0_isize;
                for (&at, (size, stride)) in index.iter().zip(self.layout.dims()) {
                    if at >= size {
                        return None;
                    }
                    // Strides of an empty layout may be any numbers.
                    offset = offset.wrapping_add(at.cast_signed().wrapping_mul(stride));
                }
                // SAFETY: every index is below its size, so the layout leads there, and invariant
                // 6 has every partial sum be a number.
                Some(unsafe { self.first.offset(offset) })
            }

            #[cold]
            fn no_such_index(&self, index: &[usize]) -> ! {
                panic!("index {index:?} is out of shape {:?}", self.shape())
            }
        }

        impl<T: Element, D: Dims> $View<'_, T, D> {
            /// Returns the number of dimensions.
            #[inline]
            pub fn rank(&self) -> usize {
                self.layout.as_layout().rank()
            }

            /// Returns the number of elements.
            #[inline]
            pub fn len(&self) -> usize {
                self.layout.as_layout().len()
            }

            /// Returns whether there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the address of the element of index 0.
            #[inline]
            pub fn as_ptr(&self) -> *const T {
                self.first.as_ptr()
            }

            /// Creates a view of elements at `first` and wherever `layout` leads from there.
            ///
            /// # Safety
            ///
            /// What [`from_raw`](Self::from_raw) asks for.
            #[inline]
            unsafe fn from_dims(first: NonNull<T>, layout: D) -> Self {
                Self {
                    first,
                    layout,
                    elements: PhantomData,
                }
            }
        }

        impl<T: Element, const N: usize> Index<[usize; N]> for $View<'_, T> {
            type Output = T;

            #[inline]
            fn index(&self, index: [usize; N]) -> &T {
                match self.get(&index) {
                    Some(element) => element,
                    None => self.no_such_index(&index),
                }
            }
        }

        impl<T: Element + fmt::Debug, D: Dims> fmt::Debug for $View<'_, T, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($View))
                    .field("dtype", &T::DTYPE)
                    .field("layout", &self.layout.as_layout())
                    .finish_non_exhaustive()
            }
        }
    };
}

common!(View);
common!(ViewMut);

impl<'a, T: Element> View<'a, T> {
    /// Returns the element of that index; `None` if it is out of bounds.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<&'a T> {
        // SAFETY: the view leads to elements that live and aren't written while `'a` lasts; the
        // index was located among them.
        self.locate(index)
            .map(|element| unsafe { element.as_ref() })
    }
}

impl<'a, T: Element, D: Dims> View<'a, T, D> {
    /// Returns the elements as a slice, if they are C-contiguous.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        let layout = self.layout.as_layout();
        layout.is_contiguous().then(|| {
            // SAFETY: the view leads to elements that live and aren't written while `'a` lasts, one
            // after another.
            unsafe { std::slice::from_raw_parts(self.first.as_ptr(), layout.len()) }
        })
    }

    /// Copies the elements to a `Vec`, the last index changing fastest.
    ///
    /// Where there isn't enough memory it panics or ends the process, as vectors do;
    /// [`Tensor::to_vec`](crate::Tensor::to_vec) is an error.
    pub fn to_vec(&self) -> Vec<T> {
        let mut vec = Vec::with_capacity(self.layout.as_layout().len());
        self.append_to(&mut vec);
        vec
    }

    /// Adds the elements to a `Vec`, the last index changing fastest.
    pub(crate) fn append_to(&self, vec: &mut Vec<T>) {
        match self.as_slice() {
            Some(slice) => vec.extend_from_slice(slice),
            None => vec.extend(self.iter().copied()),
        }
    }
}

impl<T: Element> ViewMut<'_, T> {
    /// Returns the element of that index; `None` if it is out of bounds.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        // SAFETY: the view leads to elements that nothing else uses while it is borrowed; the index
        // was located among them.
        self.locate(index)
            .map(|element| unsafe { element.as_ref() })
    }

    /// Returns the element of that index, mutably; `None` if it is out of bounds.
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        // SAFETY: the view leads to elements that nothing else uses while it is borrowed; the index
        // was located among them.
        self.locate(index)
            .map(|mut element| unsafe { element.as_mut() })
    }
}

impl<T: Element, D: Dims> ViewMut<'_, T, D> {
    /// Returns a read-only view of the same elements.
    #[inline]
    pub fn as_view(&self) -> View<'_, T, D> {
        // SAFETY: the promise to write is more than the one to read, and `self` is borrowed.
        unsafe { View::from_dims(self.first, self.layout) }
    }

    /// Reborrows the same elements for a shorter lifetime.
    #[inline]
    pub fn reborrow(&mut self) -> ViewMut<'_, T, D> {
        // SAFETY: nothing else uses the elements, and `self` is borrowed, so that it doesn't
        // either.
        unsafe { ViewMut::from_dims(self.first, self.layout) }
    }

    /// Returns the elements as a slice, if they are C-contiguous.
    #[inline]
    pub fn as_slice(&self) -> Option<&[T]> {
        self.as_view().as_slice()
    }

    /// Returns the elements as a mutable slice, if they are C-contiguous.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        let layout = self.layout.as_layout();
        layout.is_contiguous().then(|| {
            // SAFETY: the view leads to elements that nothing else uses while it is borrowed, one
            // after another.
            unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), layout.len()) }
        })
    }

    /// Writes `value` to every element.
    pub fn fill(&mut self, value: T) {
        self.iter_mut().for_each(|element| *element = value);
    }
}

impl<T: Element, const N: usize> IndexMut<[usize; N]> for ViewMut<'_, T> {
    #[inline]
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match self.locate(&index) {
            // SAFETY: the view leads to elements that nothing else uses while it is borrowed; the
            // index was located among them.
            Some(mut element) => unsafe { element.as_mut() },
            None => self.no_such_index(&index),
        }
    }
}
