//! [`Source`] and [`Target`]: elements that may be written while others read them.

mod lines;

#[cfg(feature = "ops")]
use crate::compute::Operand;
use crate::compute::elementwise::{self, Elements, Function, GRAIN, Widen};
use crate::compute::lines as compute_lines;
use crate::dtype::Element;
use crate::layout::{LayoutRef, slice_eq};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

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
    /// Whether it is one line of what a call was given: others may cross it.
    is_line: bool,
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
    fn elements(self) -> Elements<'a, T> {
        Elements {
            first: self.first.cast().as_ptr(),
            layout: self.layout,
        }
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
}

macro_rules! common {
    ($Name:ident) => {
        impl<'a, T: Element> $Name<'a, T> {
            /// # Safety
            ///
            /// While `'a` lasts, each element that the layout leads to is there, aligned, a value
            /// of `T`, and used by this call alone, through cells. Of the sources and targets of a
            /// call two are either exactly in the same place, with elements of the same size, or
            /// don't overlap, unless both are sources.
            #[inline]
            pub(super) unsafe fn new(first: NonNull<T>, layout: LayoutRef<'a>) -> Self {
                Self(Cells {
                    first: first.cast(),
                    layout,
                    is_line: false,
                    elements: PhantomData,
                })
            }

            /// Returns where the elements are.
            #[cfg(feature = "ops")]
            pub(crate) fn operand(&self) -> Operand<'a> {
                self.0.elements().operand()
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

    /// Checks that another operand has this shape.
    ///
    /// # Panics
    ///
    /// When it hasn't.
    #[inline]
    fn check_shape(&self, other: &[usize]) {
        let is_same = slice_eq(self.shape(), other);
        assert!(
            is_same,
            "an elementwise kernel's shapes: {:?} and {other:?}",
            self.shape()
        );
    }

    /// Replaces each element by a function's result for it. Large tensors are split among
    /// [threads](crate::compute::threads).
    #[inline]
    pub fn update(&self, function: impl Fn(T) -> T + Sync) {
        // SAFETY: `new` requires valid elements that no other thread uses, and this is exactly
        // where itself is.
        unsafe { elementwise::update(self.0.elements(), GRAIN, function) }
    }

    /// Writes a function's result for each element of another tensor of the same shape. Large
    /// tensors are split among [threads](crate::compute::threads).
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn map<A: Element>(&self, a: &Source<'_, A>, function: impl Fn(A) -> T + Sync) {
        self.map_by(GRAIN, a, function);
    }

    /// Writes a function's result for each element of another tensor of the same shape, like
    /// [`map`](Self::map). `grain` is the least number of elements that are worth a thread: fewer
    /// than [`GRAIN`] if the function is expensive.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn map_by<A: Element>(
        &self,
        grain: usize,
        a: &Source<'_, A>,
        function: impl Fn(A) -> T + Sync,
    ) {
        self.check_shape(a.shape());
        let mut copy = Vec::new();
        let a = self.beside(a, &mut copy);
        // SAFETY: `new` requires valid elements that no other thread uses; the source is either
        // exactly where the target is or doesn't overlap it, and shapes were just compared.
        unsafe { elementwise::map(self.0.elements(), a.0.elements(), grain, function) }
    }

    /// Calls a function with each line of another tensor along an axis, and with that of this one,
    /// to be written, like [`map_lines`](crate::compute::lines::map_lines): lines of a large tensor
    /// are split among [threads](crate::compute::threads), in place, too. A line that is in the
    /// same place as the other one is copied before.
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
    ///
    /// let centered = |x: Source<'_, f32>, y: Target<'_, f32>| {
    ///     y.map_lines(&x, 1, |x, y| {
    ///         let mean = x.iter().sum::<f32>() / x.len() as f32;
    ///         y.iter_mut().zip(x).for_each(|(y, x)| *y = x - mean);
    ///     });
    /// };
    /// let registry = Registry::new();
    /// registry.define(Op::new("centered").input("x", "T").output("y", "T").in_place("y", "x"))?;
    /// registry.register(Kernel::new("centered").function(centered))?;
    /// let x = Tensor::from([[1.0_f32, 3.0], [5.0, 1.0]]);
    /// let y = registry.op("centered")?.call().input(&x).make()?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0, 2.0, -2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the shapes differ, or there is no such axis.
    pub fn map_lines<A: Element>(
        &self,
        a: &Source<'_, A>,
        axis: usize,
        function: impl Fn(&[A], &mut [T]) + Sync,
    ) {
        let mut copy = Vec::new();
        let a = self.beside(a, &mut copy);
        let (out, a) = (self.0.elements().operand(), a.0.elements().operand());
        // SAFETY: `new` requires valid elements that no other thread uses; the source is either
        // exactly where the target is or doesn't overlap it.
        unsafe { compute_lines::map_operands(a, out, axis, function) }
    }

    /// Writes a function's result for each pair of elements of two other tensors of the same shape.
    /// Large tensors are split among [threads](crate::compute::threads).
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn zip<A: Element, B: Element>(
        &self,
        a: &Source<'_, A>,
        b: &Source<'_, B>,
        function: impl Fn(A, B) -> T + Sync,
    ) {
        self.check_shape(a.shape());
        self.check_shape(b.shape());
        let mut copies = (Vec::new(), Vec::new());
        let a = self.beside(a, &mut copies.0);
        let b = self.beside(b, &mut copies.1);
        let (out, a, b) = (self.0.elements(), a.0.elements(), b.0.elements());
        // SAFETY: `new` requires valid elements that no other thread uses; the sources are either
        // exactly where the target is or don't overlap it, and shapes were just compared.
        unsafe { elementwise::zip(out, a, b, GRAIN, function) }
    }

    /// Writes a function's result for each three elements of other tensors of the same shape.
    /// Large tensors are split among [threads](crate::compute::threads).
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn zip3<A: Element, B: Element, C: Element>(
        &self,
        a: &Source<'_, A>,
        b: &Source<'_, B>,
        c: &Source<'_, C>,
        function: impl Fn(A, B, C) -> T + Sync,
    ) {
        self.check_shape(a.shape());
        self.check_shape(b.shape());
        self.check_shape(c.shape());
        let mut copies = (Vec::new(), Vec::new(), Vec::new());
        let a = self.beside(a, &mut copies.0);
        let b = self.beside(b, &mut copies.1);
        let c = self.beside(c, &mut copies.2);
        let (out, a) = (self.0.elements(), a.0.elements());
        let (b, c) = (b.0.elements(), c.0.elements());
        // SAFETY: `new` requires valid elements that no other thread uses; the sources are either
        // exactly where the target is or don't overlap it, and shapes were just compared.
        unsafe { elementwise::zip3(out, a, b, c, GRAIN, function) }
    }

    /// Writes a function's result for each element of another tensor of the same shape, like
    /// [`map_by`](Self::map_by): 16-bit floats are converted to `f32` before, and back from it.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn map_wide<A: Widen>(
        &self,
        grain: usize,
        a: &Source<'_, A>,
        function: impl Function<(A::Wide,), Output = T::Wide>,
    ) where
        T: Widen,
    {
        self.check_shape(a.shape());
        let mut copy = Vec::new();
        let a = self.beside(a, &mut copy);
        // SAFETY: `new` requires valid elements that no other thread uses; the source is either
        // exactly where the target is or doesn't overlap it, and shapes were just compared.
        unsafe { elementwise::map_wide(self.0.elements(), a.0.elements(), grain, function) }
    }

    /// Writes a function's result for each pair of elements of two other tensors of the same shape,
    /// like [`zip`](Self::zip): 16-bit floats are converted to `f32` before, and back from it.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn zip_wide<A: Widen, B: Widen>(
        &self,
        a: &Source<'_, A>,
        b: &Source<'_, B>,
        function: impl Function<(A::Wide, B::Wide), Output = T::Wide>,
    ) where
        T: Widen,
    {
        self.check_shape(a.shape());
        self.check_shape(b.shape());
        let mut copies = (Vec::new(), Vec::new());
        let a = self.beside(a, &mut copies.0);
        let b = self.beside(b, &mut copies.1);
        let (out, a, b) = (self.0.elements(), a.0.elements(), b.0.elements());
        // SAFETY: `new` requires valid elements that no other thread uses; the sources are either
        // exactly where the target is or don't overlap it, and shapes were just compared.
        unsafe { elementwise::zip_wide(out, a, b, GRAIN, function) }
    }

    /// Writes a function's result for each three elements of other tensors of the same shape, like
    /// [`zip3`](Self::zip3): 16-bit floats are converted to `f32` before, and back from it.
    ///
    /// # Panics
    ///
    /// When the shapes differ.
    #[inline]
    pub fn zip3_wide<A: Widen, B: Widen, C: Widen>(
        &self,
        a: &Source<'_, A>,
        b: &Source<'_, B>,
        c: &Source<'_, C>,
        function: impl Function<(A::Wide, B::Wide, C::Wide), Output = T::Wide>,
    ) where
        T: Widen,
    {
        self.check_shape(a.shape());
        self.check_shape(b.shape());
        self.check_shape(c.shape());
        let mut copies = (Vec::new(), Vec::new(), Vec::new());
        let a = self.beside(a, &mut copies.0);
        let b = self.beside(b, &mut copies.1);
        let c = self.beside(c, &mut copies.2);
        let (out, a) = (self.0.elements(), a.0.elements());
        let (b, c) = (b.0.elements(), c.0.elements());
        // SAFETY: `new` requires valid elements that no other thread uses; the sources are either
        // exactly where the target is or don't overlap it, and shapes were just compared.
        unsafe { elementwise::zip3_wide(out, a, b, c, GRAIN, function) }
    }
}
