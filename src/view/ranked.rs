//! Views whose rank is in their type: sizes as an array, and elements by an index of that rank.

use super::arrangement::{Arrangement, Strided};
use super::dims::{Dims, Rank};
use super::{View, ViewMut};
use crate::dtype::Element;
use crate::error::Error;
use crate::layout::{LayoutError, LayoutRef};
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;

/// Returns the dimensions as those of another arrangement, if they satisfy it.
fn arranged<const N: usize, L: Arrangement, M: Arrangement>(
    dims: Rank<N, L>,
) -> Result<Rank<N, M>, LayoutError> {
    let layout = dims.as_layout();
    match M::accepts(layout) {
        true => Ok(dims.known_as()),
        false => Err(LayoutError::NotArranged {
            expected: M::WANTED,
            shape: layout.shape().to_vec(),
            strides: layout.strides().to_vec(),
        }),
    }
}

macro_rules! common {
    ($View:ident) => {
        impl<'a, T: Element, D: Dims> $View<'a, T, D> {
            /// Returns the same view with its rank in the type, so that it can be cut.
            ///
            /// # Errors
            ///
            /// When there are more dimensions, or fewer.
            ///
            /// # Examples
            ///
            /// ```
            /// use dlbridge::Tensor;
            ///
            /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
            /// let view = tensor.view::<i32>()?.with_rank::<2>()?;
            /// assert_eq!(view.sizes(), [2, 3]);
            /// let error = tensor.view::<i32>()?.with_rank::<3>().unwrap_err();
            /// assert_eq!(error.to_string(), "expected 3 dimensions, got shape [2, 3]");
            /// # Ok::<(), dlbridge::Error>(())
            /// ```
            #[inline]
            pub fn with_rank<const N: usize>(self) -> Result<$View<'a, T, Rank<N>>, Error> {
                let dims = Rank::from_layout(self.layout.as_layout())?;
                // SAFETY: the same elements by the same dimensions, and `self` is gone.
                Ok(unsafe { $View::from_dims(self.first, dims) })
            }
        }

        impl<'a, T: Element, const N: usize, L: Arrangement> $View<'a, T, Rank<N, L>> {
            /// Returns the sizes.
            ///
            /// # Examples
            ///
            /// ```
            /// use dlbridge::Tensor;
            ///
            /// let tensor = Tensor::full(&[8, 16, 4, 64], 0.0_f32)?;
            /// let [b, t, h, d] = tensor.view::<f32>()?.with_rank()?.sizes();
            /// assert_eq!((b, t, h, d), (8, 16, 4, 64));
            /// # Ok::<(), dlbridge::Error>(())
            /// ```
            #[inline]
            pub fn sizes(&self) -> [usize; N] {
                self.layout.sizes
            }

            /// Returns the shape: the sizes as a slice.
            #[inline]
            pub fn shape(&self) -> &[usize] {
                &self.layout.sizes
            }

            /// Returns the strides, counted in elements.
            #[inline]
            pub fn strides(&self) -> &[isize] {
                &self.layout.strides
            }

            /// Returns shape and strides.
            #[inline]
            pub fn layout(&self) -> LayoutRef<'_> {
                self.layout.as_layout()
            }

            /// Returns the same view with `M` known of its strides, such as
            /// [`ContiguousRows`](super::ContiguousRows), whose rows are slices.
            ///
            /// # Errors
            ///
            /// When the elements lie otherwise.
            ///
            /// # Examples
            ///
            /// ```
            /// use dlbridge::Tensor;
            /// use dlbridge::view::{ContiguousRows, RowMajor};
            ///
            /// let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]).slice(1, 1..)?;
            /// let view = tensor.view::<i32>()?.with_rank::<2>()?;
            /// assert!(view.arranged::<RowMajor>().is_err());
            /// let view = view.arranged::<ContiguousRows>()?;
            /// assert_eq!(view.row(1), [5, 6]);
            /// # Ok::<(), dlbridge::Error>(())
            /// ```
            #[inline]
            pub fn arranged<M: Arrangement>(self) -> Result<$View<'a, T, Rank<N, M>>, Error> {
                let dims = arranged(self.layout)?;
                // SAFETY: the same elements by the same dimensions, and `self` is gone.
                Ok(unsafe { $View::from_dims(self.first, dims) })
            }

            /// Returns the same view, with nothing known of its strides.
            #[inline]
            pub fn strided(self) -> $View<'a, T, Rank<N, Strided>> {
                // SAFETY: the same elements by the same dimensions, and `self` is gone.
                unsafe { $View::from_dims(self.first, self.layout.known_as()) }
            }

            /// Returns the offset of the element of that index; `None` if it is out of bounds.
            #[inline]
            fn locate_element(&self, index: [usize; N]) -> Option<NonNull<T>> {
                let mut offset = 0_isize;
                for (axis, at) in index.into_iter().enumerate() {
                    if at >= self.layout.sizes[axis] {
                        return None;
                    }
                    // Strides of an empty layout may be any numbers.
                    let part = at.cast_signed().wrapping_mul(self.layout.strides[axis]);
                    offset = offset.wrapping_add(part);
                }
                // SAFETY: every index is below its size, so the layout leads there, and invariant
                // 6 has every partial sum be a number.
                Some(unsafe { self.first.offset(offset) })
            }

            #[cold]
            #[track_caller]
            fn not_an_index(&self, index: [usize; N]) -> ! {
                panic!("index {index:?} is out of shape {:?}", self.shape())
            }
        }

        impl<T: Element, const N: usize, L: Arrangement> Index<[usize; N]>
            for $View<'_, T, Rank<N, L>>
        {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, index: [usize; N]) -> &T {
                match self.locate_element(index) {
                    // SAFETY: the view leads to elements that aren't written while it is borrowed;
                    // the index was located among them.
                    Some(element) => unsafe { element.as_ref() },
                    None => self.not_an_index(index),
                }
            }
        }

        impl<T: Element, L: Arrangement> Index<usize> for $View<'_, T, Rank<1, L>> {
            type Output = T;

            #[inline]
            #[track_caller]
            fn index(&self, index: usize) -> &T {
                &self[[index]]
            }
        }
    };
}

common!(View);
common!(ViewMut);

impl<'a, T: Element, const N: usize, L: Arrangement> View<'a, T, Rank<N, L>> {
    /// Returns the element of that index; `None` if it is out of bounds.
    #[inline]
    pub fn get(&self, index: [usize; N]) -> Option<&'a T> {
        // SAFETY: the view leads to elements that live and aren't written while `'a` lasts; the
        // index was located among them.
        self.locate_element(index)
            .map(|element| unsafe { element.as_ref() })
    }

    /// Borrows the view as one of any rank.
    #[inline]
    pub fn as_any_rank(&self) -> View<'_, T> {
        // SAFETY: the same elements by the same dimensions, which are borrowed.
        unsafe { View::from_dims(self.first, self.layout.as_layout()) }
    }
}

impl<T: Element, const N: usize, L: Arrangement> ViewMut<'_, T, Rank<N, L>> {
    /// Returns the element of that index; `None` if it is out of bounds.
    #[inline]
    pub fn get(&self, index: [usize; N]) -> Option<&T> {
        self.as_view().get(index)
    }

    /// Returns the element of that index, mutably; `None` if it is out of bounds.
    #[inline]
    pub fn get_mut(&mut self, index: [usize; N]) -> Option<&mut T> {
        // SAFETY: the view leads to elements that nothing else uses while it is borrowed; the index
        // was located among them.
        self.locate_element(index)
            .map(|mut element| unsafe { element.as_mut() })
    }

    /// Borrows the view as one of any rank.
    #[inline]
    pub fn as_any_rank(&mut self) -> ViewMut<'_, T> {
        // SAFETY: the same elements by the same dimensions; `self` is borrowed meanwhile.
        unsafe { ViewMut::from_dims(self.first, self.layout.as_layout()) }
    }
}

impl<T: Element, const N: usize, L: Arrangement> IndexMut<[usize; N]>
    for ViewMut<'_, T, Rank<N, L>>
{
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match self.locate_element(index) {
            // SAFETY: the view leads to elements that nothing else uses while it is borrowed; the
            // index was located among them.
            Some(mut element) => unsafe { element.as_mut() },
            None => self.not_an_index(index),
        }
    }
}

impl<T: Element, L: Arrangement> IndexMut<usize> for ViewMut<'_, T, Rank<1, L>> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self[[index]]
    }
}
