//! [`Source`] and [`Target`]: elements that may be written while others read them.

use crate::dtype::Element;
use crate::layout::LayoutRef;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::slice;

/// Elements that are read, one by one and by value, of which a [`Target`] of the same call may be
/// exactly in the same place: what makes `add(a, b, out=a)` possible.
pub struct Source<'a, T>(Cells<'a, T>);

/// Elements that are read and written, one by one and by value, where a [`Source`] of the same call
/// may be, too.
pub struct Target<'a, T>(Cells<'a, T>);

impl<T> fmt::Debug for Source<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.0.layout).finish()
    }
}

impl<T> fmt::Debug for Target<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.0.layout).finish()
    }
}

struct Cells<'a, T> {
    first: NonNull<Cell<T>>,
    layout: LayoutRef<'a>,
    elements: PhantomData<&'a Cell<T>>,
}

impl<T> Clone for Cells<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cells<'_, T> {}

impl<'a, T: Element> Cells<'a, T> {
    #[inline]
    fn as_slice(self) -> Option<&'a [Cell<T>]> {
        self.layout.is_contiguous().then(|| {
            // SAFETY: `new` requires valid elements at each offset of the layout, which is
            // contiguous.
            unsafe { slice::from_raw_parts(self.first.as_ptr(), self.layout.len()) }
        })
    }

    #[inline]
    fn iter(self) -> impl Iterator<Item = &'a Cell<T>> {
        self.layout.runs().flat_map(move |run| {
            (0..run.len as isize).map(move |at| {
                // SAFETY: `new` requires valid elements at each offset of the layout, and this is
                // one.
                unsafe { self.first.offset(run.offset + at * run.step).as_ref() }
            })
        })
    }

    fn lines(self, axis: usize) -> impl Iterator<Item = Self> + use<'a, T> {
        let (layout, begins) = self.layout.lines(axis);
        begins.map(move |begin| Self {
            // SAFETY: `new` requires valid elements at each offset of the layout, and this is one.
            first: unsafe { self.first.offset(begin) },
            layout,
            elements: PhantomData,
        })
    }
}

macro_rules! common {
    ($Name:ident) => {
        impl<'a, T: Element> $Name<'a, T> {
            /// # Safety
            ///
            /// While `'a` lasts, each element that the layout leads to is there, aligned, a value
            /// of `T`, and used by this thread alone, through cells.
            #[inline]
            pub(super) unsafe fn new(first: NonNull<T>, layout: LayoutRef<'a>) -> Self {
                Self(Cells {
                    first: first.cast(),
                    layout,
                    elements: PhantomData,
                })
            }

            /// Returns the shape.
            #[inline]
            pub fn shape(&self) -> &'a [usize] {
                self.0.layout.shape()
            }

            /// Returns shape and strides.
            #[inline]
            pub fn layout(&self) -> LayoutRef<'a> {
                self.0.layout
            }

            /// Returns the number of elements.
            #[inline]
            pub fn len(&self) -> usize {
                self.0.layout.len()
            }

            /// Returns whether there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.0.layout.is_empty()
            }

            /// Returns the elements along a dimension, for each index of the other dimensions, of
            /// which the last changes fastest. Without elements there are no lines.
            ///
            /// # Panics
            ///
            /// When there is no such dimension.
            pub fn lines(&self, axis: usize) -> impl Iterator<Item = Self> + use<'a, T> {
                self.0.lines(axis).map(Self)
            }
        }
    };
}

common!(Source);
common!(Target);

impl<'a, T: Element> Source<'a, T> {
    /// Iterates over the elements, the last index changing fastest.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        self.0.iter().map(Cell::get)
    }
}

impl<'a, T: Element> Target<'a, T> {
    /// Iterates over the elements, the last index changing fastest.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'a Cell<T>> + use<'a, T> {
        self.0.iter()
    }

    /// Replaces each element by a function's result for it.
    #[inline]
    pub fn update(&self, function: impl Fn(T) -> T) {
        match self.0.as_slice() {
            Some(cells) => cells.iter().for_each(|cell| cell.set(function(cell.get()))),
            None => self.iter().for_each(|cell| cell.set(function(cell.get()))),
        }
    }

    /// Writes a function's result for each element of another tensor of the same shape.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn map<A: Element>(&self, a: &Source<'_, A>, function: impl Fn(A) -> T) {
        assert_eq!(self.shape(), a.shape(), "an elementwise kernel's shapes");
        match (self.0.as_slice(), a.0.as_slice()) {
            (Some(out), Some(a)) => {
                for (out, a) in out.iter().zip(a) {
                    out.set(function(a.get()));
                }
            }
            _ => {
                for (out, a) in self.iter().zip(a.iter()) {
                    out.set(function(a));
                }
            }
        }
    }

    /// Writes a function's result for each pair of elements of two other tensors of the same shape.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn zip<A: Element, B: Element>(
        &self,
        a: &Source<'_, A>,
        b: &Source<'_, B>,
        function: impl Fn(A, B) -> T,
    ) {
        assert_eq!(self.shape(), a.shape(), "an elementwise kernel's shapes");
        assert_eq!(self.shape(), b.shape(), "an elementwise kernel's shapes");
        match (self.0.as_slice(), a.0.as_slice(), b.0.as_slice()) {
            (Some(out), Some(a), Some(b)) => {
                for ((out, a), b) in out.iter().zip(a).zip(b) {
                    out.set(function(a.get(), b.get()));
                }
            }
            _ => {
                for ((out, a), b) in self.iter().zip(a.iter()).zip(b.iter()) {
                    out.set(function(a, b));
                }
            }
        }
    }
}
