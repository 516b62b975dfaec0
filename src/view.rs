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

mod bytes;
mod iter;

pub use iter::{Iter, IterMut};

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
pub struct View<'a, T> {
    /// The element of index 0; dangling where there is none.
    first: NonNull<T>,
    layout: LayoutRef<'a>,
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
pub struct ViewMut<'a, T> {
    first: NonNull<T>,
    layout: LayoutRef<'a>,
    elements: PhantomData<&'a mut T>,
}

// SAFETY: it is a shared reference to elements, which may be sent as they are `Sync`.
unsafe impl<T: Element> Send for View<'_, T> {}
// SAFETY: a shared reference to it gives shared references to elements, which are `Sync`.
unsafe impl<T: Element> Sync for View<'_, T> {}
// SAFETY: it is an exclusive reference to elements, which may be sent as they are `Send`.
unsafe impl<T: Element> Send for ViewMut<'_, T> {}
// SAFETY: a shared reference to it gives shared references to elements, which are `Sync`.
unsafe impl<T: Element> Sync for ViewMut<'_, T> {}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

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
                Self {
                    first,
                    layout,
                    elements: PhantomData,
                }
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

            /// Returns the number of dimensions.
            #[inline]
            pub fn rank(&self) -> usize {
                self.layout.rank()
            }

            /// Returns the number of elements.
            #[inline]
            pub fn len(&self) -> usize {
                self.layout.len()
            }

            /// Returns whether there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.layout.is_empty()
            }

            /// Returns the address of the element of index 0.
            #[inline]
            pub fn as_ptr(&self) -> *const T {
                self.first.as_ptr()
            }

            /// Returns the offset of the element of that index; `None` if it is out of bounds.
            #[inline]
            fn locate(&self, index: &[usize]) -> Option<NonNull<T>> {
                if index.len() != self.rank() {
                    return None;
                }
                let mut offset = 0;
                for (&at, (size, stride)) in index.iter().zip(self.layout.dims()) {
                    if at >= size {
                        return None;
                    }
                    offset += at as isize * stride;
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

        impl<T: Element + fmt::Debug> fmt::Debug for $View<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($View))
                    .field("dtype", &T::DTYPE)
                    .field("layout", &self.layout)
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

    /// Returns the elements as a slice, if they are C-contiguous.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [T]> {
        self.layout.is_contiguous().then(|| {
            // SAFETY: the view leads to elements that live and aren't written while `'a` lasts, one
            // after another.
            unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len()) }
        })
    }

    /// Copies the elements to a `Vec`, the last index changing fastest.
    pub fn to_vec(&self) -> Vec<T> {
        match self.as_slice() {
            Some(slice) => slice.to_vec(),
            None => self.iter().copied().collect(),
        }
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// Returns a read-only view of the same elements.
    #[inline]
    pub fn as_view(&self) -> View<'_, T> {
        // SAFETY: the promise to write is more than the one to read, and `self` is borrowed.
        unsafe { View::from_raw(self.first, self.layout) }
    }

    /// Reborrows the same elements for a shorter lifetime.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        // SAFETY: nothing else uses the elements, and `self` is borrowed, so that it doesn't
        // either.
        unsafe { ViewMut::from_raw(self.first, self.layout) }
    }

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

    /// Returns the elements as a slice, if they are C-contiguous.
    #[inline]
    pub fn as_slice(&self) -> Option<&[T]> {
        self.as_view().as_slice()
    }

    /// Returns the elements as a mutable slice, if they are C-contiguous.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        self.layout.is_contiguous().then(|| {
            // SAFETY: the view leads to elements that nothing else uses while it is borrowed, one
            // after another.
            unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len()) }
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
