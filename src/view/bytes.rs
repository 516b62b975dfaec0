//! Checks of the bytes that elements are, before they are used as values of a type that not every
//! byte is.

use super::View;
use crate::dtype::find_invalid_bool;
use crate::layout::{LayoutRef, Places};
use std::ptr::NonNull;
use std::slice;

/// How much longer a layout may be than the memory that it is in, for its elements to be visited
/// one by one.
const MOST_VISITS: usize = 4;

impl View<'_, u8> {
    /// Returns the first byte that isn't 0 or 1, the values of `bool`. It visits each byte of
    /// memory once, as a broadcast tensor may have any number of elements.
    pub(crate) fn find_invalid_bool(&self) -> Option<u8> {
        let is_invalid = |byte: &u8| *byte > 1;
        let find = |first: NonNull<u8>, layout: LayoutRef<'_>| {
            layout.runs().find_map(|run| {
                // SAFETY: the layout leads to no places but those of this view.
                let first = unsafe { first.offset(run.offset) };
                if run.step == 1 {
                    // SAFETY: the run's elements are this view's, and follow each other.
                    let bytes = unsafe { slice::from_raw_parts(first.as_ptr(), run.len) };
                    return find_invalid_bool(bytes);
                }
                let steps = (0..run.len as isize).map(|at| at * run.step);
                // SAFETY: each is the place of an element of this view.
                let mut bytes = steps.map(|step| unsafe { first.offset(step).read() });
                bytes.find(is_invalid)
            })
        };
        let Some((distinct, offset)) = self.layout.distinct() else {
            return find(self.first, self.layout);
        };
        // SAFETY: the offset of one of the elements.
        let first = unsafe { self.first.offset(offset) };
        let layout = distinct.as_ref();
        let span = layout.extent().map_or(0, |(_, last)| last as usize + 1);
        if layout.len() / MOST_VISITS <= span {
            return find(first, layout);
        }
        let places = Places::new(layout);
        // SAFETY: each is the place of an element of this view.
        let mut bytes = places
            .iter()
            .map(|place| unsafe { first.add(place).read() });
        bytes.find(is_invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn find_invalid_bool_visits_each_byte_at_most_once() {
        let huge = 1 << 40;
        let layouts = [
            (vec![huge, 64], vec![0, 1]),
            (vec![huge, 32, 33], vec![0, 1, 1]),
            (vec![1 << 20, 1 << 20], vec![2, 3]),
        ];
        let mut bytes = vec![1_u8; 6 << 20];
        for (shape, strides) in layouts {
            let layout = Layout::strided(&shape, &strides).unwrap();
            for wrong in [None, Some(0), Some(2), Some(63)] {
                if let Some(at) = wrong {
                    bytes[at] = 7;
                }
                let first = NonNull::new(bytes.as_mut_ptr()).unwrap();
                // SAFETY: the vector has as many bytes as the layouts reach, and isn't used
                // meanwhile.
                let view = unsafe { View::<u8>::from_raw(first, layout.as_ref()) };
                assert_eq!(view.find_invalid_bool(), wrong.map(|_| 7));
                bytes[wrong.unwrap_or(0)] = 1;
            }
        }
        // Bytes of long runs, at the ends of what is checked at once.
        let layout = Layout::contiguous(&[10_000]).unwrap();
        for wrong in [0, 4095, 4096, 9999] {
            bytes[wrong] = 7;
            let first = NonNull::new(bytes.as_mut_ptr()).unwrap();
            // SAFETY: the vector has more bytes, and isn't used meanwhile.
            let view = unsafe { View::<u8>::from_raw(first, layout.as_ref()) };
            assert_eq!(view.find_invalid_bool(), Some(7), "{wrong}");
            bytes[wrong] = 1;
        }
        // A byte between the elements isn't one of them.
        let layout = Layout::strided(&[1 << 10, 1 << 10], &[2, 3]).unwrap();
        bytes[1] = 7;
        let first = NonNull::new(bytes.as_mut_ptr()).unwrap();
        // SAFETY: the bytes cover the layout's extent.
        let view = unsafe { View::<u8>::from_raw(first, layout.as_ref()) };
        assert_eq!(view.find_invalid_bool(), None);
    }
}
