//! Decisions on overlaps: by ranges and nesting of strides where that is enough, otherwise by the
//! search.

use super::search::{Choice, Term, Terms};
use super::{Overlap, Region};
use crate::layout::LayoutRef;
use std::cmp::Reverse;

impl LayoutRef<'_> {
    /// Returns whether two of the layout's elements overlap.
    ///
    /// Packed elements that have a byte, but no bit of it, in common are not: they are told apart
    /// by a write to them.
    pub fn overlaps_itself(self) -> Overlap {
        if self.len() <= 1 || self.is_dense() {
            return Overlap::No;
        }
        let mut terms = Vec::with_capacity(self.rank());
        for (size, stride) in self.dims() {
            match (size, stride) {
                (0 | 1, _) => {}
                (_, 0) => return Overlap::Yes,
                _ => terms.push(Term::new(stride, 1, size)),
            }
        }
        let mut terms = Terms::sorted(terms);
        if terms.are_nested() {
            return Overlap::No;
        }
        // Two indices i and j meet where the sum of (i - j) * stride is 0. The differences run
        // from -n to n; counted from 0 to 2n they must reach half of the largest sum, other than
        // by n each, which is i = j.
        let target = terms.largest_sum();
        terms.double();
        let start = Choice {
            rest: target,
            phase: 0,
            is_middle: true,
        };
        terms.search(start, 0, |end| !end.is_middle)
    }
}

impl Region<'_> {
    /// Returns whether an element of one shares memory with an element of the other.
    ///
    /// Memory is bytes: neighbours in one byte share it, as neither can be written without the
    /// other.
    ///
    /// # Panics
    ///
    /// When [`LayoutRef::check_memory`] refuses one of the regions.
    pub fn overlaps(&self, other: &Region<'_>) -> Overlap {
        let (Some(ours), Some(theirs)) = (self.bits(), other.bits()) else {
            return Overlap::No;
        };
        // The ranges in bytes.
        let is_behind = |a: (i128, i128), b: (i128, i128)| (a.1 - 1) >> 3 < b.0 >> 3;
        if is_behind(ours, theirs) || is_behind(theirs, ours) {
            return Overlap::No;
        }
        if self.layout.is_dense() && other.layout.is_dense() {
            return Overlap::Yes;
        }
        let (mut terms, our_width) = self.runs();
        let (their_terms, their_width) = other.runs();
        // Only where a run begins inside a byte does it matter by how many bits.
        terms
            .iter_mut()
            .for_each(|term| term.phase = term.factor % 8);
        terms.extend(their_terms);
        let terms = Terms::sorted(terms);
        // A run of ours begins at `lowest + sum(i * stride)`; one of theirs, counted from the
        // other end, at `highest - sum(j * stride)`. What both sums leave of the distance is by
        // how much theirs is behind ours: they meet where that is less than one of the widths.
        // Runs that begin inside a byte also meet from up to 7 bits further away.
        let (lowest, highest) = (ours.0, theirs.1 - their_width);
        let begin_bytes = terms.are_whole_bytes() && (lowest | highest) & 7 == 0;
        let furthest = |width: i128| {
            if begin_bytes {
                (width - 1) & !7
            } else {
                width + 6
            }
        };
        let (most_behind, most_before) = (furthest(our_width), furthest(their_width));
        let start = Choice {
            rest: highest - lowest + most_before,
            phase: lowest & 7,
            is_middle: false,
        };
        terms.search(start, most_behind + most_before, |end| {
            let their_begin = end.phase + end.rest - most_before;
            let their_last = their_begin + their_width - 1;
            let our_last = end.phase + our_width - 1;
            // The byte in which ours begins is number 0.
            their_begin >> 3 <= our_last >> 3 && their_last >> 3 >= 0
        })
    }

    /// Returns the bits from the lowest to behind the highest one, absolute.
    fn bits(&self) -> Option<(i128, i128)> {
        if self.layout.is_empty() {
            return None;
        }
        let (begin, end) = self
            .layout
            .bit_extent(self.dtype, self.padded)
            .expect("an element type for which the layout was checked");
        let address = self.address as i128 * 8;
        Some((address + begin as i128, address + end as i128))
    }

    /// Returns the region as runs of bits without gaps: the terms that lead from one to the other,
    /// and how wide each is.
    fn runs(&self) -> (Vec<Term>, i128) {
        // Padding belongs to no value, but it is written along with one.
        let step = self.dtype.step_bits(self.padded);
        let steps = |(_, stride): &(usize, isize)| *stride != 0;
        let dims = self.layout.dims().filter(|(size, _)| *size > 1);
        let mut terms: Vec<Term> = dims
            .filter(steps)
            .map(|(size, stride)| Term::new(stride, step, size))
            .collect();
        terms.sort_unstable_by_key(|term| Reverse(term.factor));
        let mut width = step as i128;
        while let Some(shortest) = terms.pop_if(|term| term.factor <= width) {
            width += shortest.factor * shortest.most;
        }
        (terms, width)
    }
}
