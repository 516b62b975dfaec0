//! Queries of a layout: contiguity, density, dimensions.

use super::LayoutRef;

impl<'a> LayoutRef<'a> {
    /// Returns a part of a layout that was checked: fewer indices, the dimensions in any order.
    #[inline]
    pub(crate) fn of_part(shape: &'a [usize], strides: &'a [isize]) -> Self {
        let len = shape.iter().product();
        let mut part = Self {
            shape,
            strides,
            len,
            contiguous: false,
        };
        part.contiguous = len == 0 || dense_in_order(part.dims().rev());
        part
    }

    /// Returns whether the layout is C-contiguous: row-major, without gaps.
    pub fn is_contiguous(self) -> bool {
        self.contiguous
    }

    /// Returns whether the layout is F-contiguous: column-major, without gaps.
    pub fn is_f_contiguous(self) -> bool {
        self.is_empty() || dense_in_order(self.dims())
    }

    /// Returns whether the layout is dense: contiguous in some order of the dimensions, with
    /// positive strides.
    pub fn is_dense(self) -> bool {
        if self.is_empty() {
            return true;
        }
        let dims = || self.dims().filter(|(size, _)| *size > 1);
        // A bubble of the few dimensions there are: the next one must begin where the last ended.
        let mut step = 1;
        for _ in 0..dims().count() {
            match dims().find(|(_, stride)| *stride == step) {
                Some((size, _)) => step *= size as isize,
                None => return false,
            }
        }
        true
    }

    /// Returns whether there is room between elements that none of them takes.
    #[inline]
    pub(crate) fn has_gaps(self) -> bool {
        !self.contiguous && self.has_gaps_by_strides()
    }

    fn has_gaps_by_strides(self) -> bool {
        if self.is_empty() {
            return false;
        }
        // As many places, one after another, are taken. A dimension with a step of at most that
        // many takes those behind, too.
        let mut taken = 1;
        loop {
            let steps = self
                .dims()
                .map(|(size, stride)| (size, stride.unsigned_abs()));
            let within = steps.filter(|(_, step)| *step <= taken);
            let more: usize = within.map(|(size, step)| (size - 1) * step).sum();
            if 1 + more == taken {
                break;
            }
            taken = 1 + more;
        }
        self.dims()
            .any(|(size, stride)| size > 1 && stride.unsigned_abs() > taken)
    }

    /// Returns whether each row, the elements along the last axis, is contiguous.
    pub fn has_contiguous_rows(self) -> bool {
        let last = self.dims().next_back();
        last.is_none_or(|(size, stride)| size <= 1 || stride == 1) || self.is_empty()
    }

    /// Returns size and stride of each dimension.
    pub(crate) fn dims(
        self,
    ) -> impl DoubleEndedIterator<Item = (usize, isize)> + ExactSizeIterator + 'a {
        self.shape()
            .iter()
            .copied()
            .zip(self.strides().iter().copied())
    }
}

/// Returns whether dimensions, innermost first, are contiguous.
#[inline]
fn dense_in_order(dims: impl Iterator<Item = (usize, isize)>) -> bool {
    let mut step = 1_isize;
    for (size, stride) in dims {
        if size != 1 {
            if stride != step {
                return false;
            }
            // No overflow: part of the product that is the number of elements.
            step *= size as isize;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::layout::Layout;
    use std::collections::BTreeSet;

    /// Returns whether there are places between the lowest and the highest element that none has.
    fn has_gaps(shape: &[usize], strides: &[isize]) -> bool {
        let mut places = BTreeSet::from([0]);
        for (size, stride) in shape.iter().zip(strides) {
            let steps = |place| (0..*size as isize).map(move |at| place + at * stride);
            places = places.into_iter().flat_map(steps).collect();
        }
        let ends = places.first().zip(places.last());
        ends.is_some_and(|(first, last)| (last - first + 1) as usize != places.len())
    }

    #[test]
    fn gaps_are_where_no_element_is() {
        let sizes = if cfg!(miri) { 1..3 } else { 0..4 };
        let steps = || if cfg!(miri) { -2..3 } else { -5..6 };
        for (a, b, c) in sizes.clone().flat_map(|a| {
            let sizes = sizes.clone();
            sizes
                .clone()
                .flat_map(move |b| sizes.clone().map(move |c| (a, b, c)))
        }) {
            for (x, y, z) in
                steps().flat_map(|x| steps().flat_map(move |y| steps().map(move |z| (x, y, z))))
            {
                let (shape, strides) = ([a, b, c], [x, y, z]);
                let layout = Layout::strided(&shape, &strides).unwrap();
                let found = layout.as_ref().has_gaps();
                assert_eq!(found, has_gaps(&shape, &strides), "{shape:?} {strides:?}");
            }
        }
    }
}
