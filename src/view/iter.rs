//! Iteration in logical order, at the speed of memory where the elements are dense: then all of
//! them are one run, which `fold` (and so `sum`, `for_each`, `collect`) walks as a slice.

use super::dims::Dims;
use super::{View, ViewMut};
use crate::dtype::Element;
use crate::layout::{LayoutRef, Run, Runs};
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ptr::NonNull;

impl<'a, T: Element, D: Dims> View<'a, T, D> {
    /// Returns the elements, the last index changing fastest.
    #[inline]
    pub fn iter(&self) -> Iter<'a, T> {
        Iter::new(*self)
    }
}

impl<T: Element, D: Dims> ViewMut<'_, T, D> {
    /// Returns the elements, the last index changing fastest.
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        self.as_view().iter()
    }

    /// Returns the elements, to be written, the last index changing fastest.
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut::new(self.reborrow())
    }
}

impl<'a, T: Element, D: Dims> IntoIterator for View<'a, T, D> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element, D: Dims> IntoIterator for ViewMut<'a, T, D> {
    type Item = &'a mut T;
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        IterMut::new(self)
    }
}

impl<'a, T: Element, D: Dims> IntoIterator for &View<'a, T, D> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element, D: Dims> IntoIterator for &'a ViewMut<'_, T, D> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element, D: Dims> IntoIterator for &'a mut ViewMut<'_, T, D> {
    type Item = &'a mut T;
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

/// Visits the elements' addresses.
struct Cursor<T> {
    first: NonNull<T>,
    runs: Runs,
    /// Rest of the current run.
    run: Run,
    /// How many elements are left in all.
    total: usize,
}

impl<T> Cursor<T> {
    #[inline]
    fn new(first: NonNull<T>, layout: LayoutRef<'_>) -> Self {
        Self {
            first,
            runs: layout.runs(),
            run: Run {
                offset: 0,
                len: 0,
                step: 0,
            },
            total: layout.len(),
        }
    }

    /// Returns the address of the next element.
    #[inline]
    fn advance(&mut self) -> Option<*mut T> {
        if self.run.len == 0 {
            self.run = self.runs.next()?;
        }
        let element = self.first.as_ptr().wrapping_offset(self.run.offset);
        // The offset behind the last element isn't used, and may be anything.
        self.run.offset = self.run.offset.wrapping_add(self.run.step);
        self.run.len -= 1;
        self.total -= 1;
        Some(element)
    }

    /// Returns the rest of the current run, or the next run: its begin, length and stride.
    fn take_run(&mut self) -> Option<(*mut T, usize, isize)> {
        let run = match self.run.len {
            0 => self.runs.next()?,
            _ => self.run,
        };
        self.run.len = 0;
        self.total -= run.len;
        let start = self.first.as_ptr().wrapping_offset(run.offset);
        Some((start, run.len, run.step))
    }
}

/// Runs the inner loop, in a function of its own so that the compiler optimizes it fully.
#[inline(never)]
fn fold_run<I: Iterator, B>(run: I, init: B, f: impl FnMut(B, I::Item) -> B) -> B {
    run.fold(init, f)
}

macro_rules! iterator {
    ($(#[$doc:meta])* $Iter:ident, $View:ident, $Ref:ty, $slice:path, $deref:expr) => {
        $(#[$doc])*
        pub struct $Iter<'a, T> {
            cursor: Cursor<T>,
            elements: PhantomData<$Ref>,
        }

        impl<T> fmt::Debug for $Iter<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Iter)).finish_non_exhaustive()
            }
        }

        // SAFETY: it is the references that it will give out, to elements that may be sent.
        unsafe impl<T: Element> Send for $Iter<'_, T> {}
        // SAFETY: a shared reference to it gives nothing out.
        unsafe impl<T: Element> Sync for $Iter<'_, T> {}

        impl<'a, T: Element> $Iter<'a, T> {
            #[inline]
            pub(super) fn new<D: Dims>(view: $View<'a, T, D>) -> Self {
                Self {
                    cursor: Cursor::new(view.first, view.layout.as_layout()),
                    elements: PhantomData,
                }
            }
        }

        impl<'a, T: Element> Iterator for $Iter<'a, T> {
            type Item = $Ref;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                self.cursor.advance().map($deref)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.cursor.total, Some(self.cursor.total))
            }

            fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut f: F) -> B {
                let mut result = init;
                while let Some((start, len, step)) = self.cursor.take_run() {
                    if step == 1 {
                        // SAFETY: a run of elements that the view leads to, one after another,
                        // none of which was given out before.
                        let run = unsafe { $slice(start, len) };
                        result = fold_run(run.into_iter(), result, &mut f);
                    } else {
                        for i in 0..len {
                            let element = start.wrapping_offset(i as isize * step);
                            result = f(result, $deref(element));
                        }
                    }
                }
                result
            }
        }

        impl<T: Element> ExactSizeIterator for $Iter<'_, T> {}
        impl<T: Element> FusedIterator for $Iter<'_, T> {}
    };
}

iterator!(
    /// A view's elements, to be read.
    Iter, View, &'a T, std::slice::from_raw_parts,
    // SAFETY: the cursor gives addresses of elements that the view leads to.
    |element: *mut T| unsafe { &*element }
);
iterator!(
    /// A view's elements, to be written.
    IterMut, ViewMut, &'a mut T, std::slice::from_raw_parts_mut,
    // SAFETY: the cursor gives addresses of elements that the view leads to, each once, and no two
    // elements of a view to be written through are at one place.
    |element: *mut T| unsafe { &mut *element }
);
