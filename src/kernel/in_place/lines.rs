//! Lines of elements, of which one may cross another.

use super::{Cells, Source, Target};
use crate::dtype::Element;
use crate::layout::LayoutRef;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

impl<'a, T: Element> Cells<'a, T> {
    pub(super) fn lines(self, axis: usize) -> impl Iterator<Item = Self> + use<'a, T> {
        let (layout, begins) = self.layout.lines(axis);
        begins.map(move |begin| Self {
            // SAFETY: `new` requires valid elements at each offset of the layout, and this is one.
            first: unsafe { self.first.offset(begin) },
            layout,
            is_line: true,
            elements: PhantomData,
        })
    }

    /// Returns the addresses between which the elements of a line are.
    fn addresses(self) -> Range<usize> {
        let steps = self.layout.len().saturating_sub(1) as isize;
        let distance = steps * self.layout.strides()[0] * size_of::<T>() as isize;
        let first = self.first.addr().get();
        let last = first.wrapping_add_signed(distance);
        first.min(last)..first.max(last) + size_of::<T>()
    }

    fn is_exactly_at<A: Element>(self, other: Cells<'_, A>) -> bool {
        self.first.addr() == other.first.addr()
            && self.layout.strides() == other.layout.strides()
            && size_of::<T>() == size_of::<A>()
    }
}

impl<T: Element> Target<'_, T> {
    /// Returns a source of the same elements that is exactly where this target is, or doesn't
    /// overlap it: of a line that may cross this one, the elements are copied.
    // `is_line` is a constant where both are made, so nothing is left of this there.
    #[inline(always)]
    pub(super) fn beside<'s, A: Element>(
        &self,
        source: &Source<'s, A>,
        copy: &'s mut Vec<A>,
    ) -> Source<'s, A> {
        match self.0.is_line || source.0.is_line {
            true => self.beside_line(source, copy),
            false => Source(source.0),
        }
    }

    fn beside_line<'s, A: Element>(
        &self,
        source: &Source<'s, A>,
        copy: &'s mut Vec<A>,
    ) -> Source<'s, A> {
        let (ours, theirs) = (self.0, source.0);
        if ours.layout.rank() != 1 || theirs.layout.rank() != 1 || ours.is_exactly_at(theirs) {
            return Source(theirs);
        }
        let (these, those) = (ours.addresses(), theirs.addresses());
        if these.end <= those.start || those.end <= these.start {
            return Source(theirs);
        }
        copy.extend(source.iter());
        Source(Cells {
            first: NonNull::from(copy.as_mut_slice()).cast(),
            layout: LayoutRef::line(theirs.layout.shape()),
            is_line: true,
            elements: PhantomData,
        })
    }
}
