//! A line: the elements along one axis, all other indices being equal.

use super::dims::Rank;
use super::{View, ViewMut};
use crate::dtype::Element;
use std::ptr::NonNull;
use std::slice;

/// The elements along one axis of a view, to be read: a view of rank 1.
pub type Line<'a, T> = View<'a, T, Rank<1>>;

/// The elements along one axis of a view, to be written: a view of rank 1.
pub type LineMut<'a, T> = ViewMut<'a, T, Rank<1>>;

/// A line, as a view or, where it is contiguous, as a slice.
pub trait LineItem: sealed::Sealed {
    /// The element type.
    type Element: Element;

    /// Creates a line of elements.
    ///
    /// # Safety
    ///
    /// Each element is there, aligned and valid while the item lives, and isn't written; for an
    /// item to be written through, no other code uses it, and no two are at one place. If the item
    /// is a slice, its elements are contiguous.
    #[doc(hidden)]
    unsafe fn new(first: NonNull<Self::Element>, len: usize, stride: isize) -> Self;
}

/// Lines that might turn out to be contiguous.
pub trait StridedLine: LineItem {
    /// The same line as a slice.
    type Slice: LineItem<Element = Self::Element>;
}

macro_rules! lines {
    ($View:ident, $Slice:ty, $from_raw_parts:path) => {
        impl<'a, T: Element> LineItem for $View<'a, T, Rank<1>> {
            type Element = T;

            #[inline]
            unsafe fn new(first: NonNull<T>, len: usize, stride: isize) -> Self {
                // SAFETY: the caller gives elements that may be used so.
                unsafe { $View::from_dims(first, Rank::new([len], [stride])) }
            }
        }

        impl<'a, T: Element> StridedLine for $View<'a, T, Rank<1>> {
            type Slice = $Slice;
        }

        impl<'a, T: Element> LineItem for $Slice {
            type Element = T;

            #[inline]
            unsafe fn new(first: NonNull<T>, len: usize, _: isize) -> Self {
                // SAFETY: the caller gives contiguous elements that may be used so.
                unsafe { $from_raw_parts(first.as_ptr(), len) }
            }
        }
    };
}

lines!(View, &'a [T], slice::from_raw_parts);
lines!(ViewMut, &'a mut [T], slice::from_raw_parts_mut);

mod sealed {
    use super::{Line, LineMut};

    pub trait Sealed {}
    impl<T> Sealed for Line<'_, T> {}
    impl<T> Sealed for LineMut<'_, T> {}
    impl<T> Sealed for &[T] {}
    impl<T> Sealed for &mut [T] {}
}
