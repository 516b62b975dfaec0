//! The elements of a loop's argument, and which of them depend on others.

use crate::kernel::OpHandle;

/// How many bytes an element has at most.
pub(super) const ITEM_BYTES: usize = 16;
/// How many arguments a universal function has at most, as in NumPy.
pub(super) const MOST: usize = 32;

/// Elements at a distance from each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements {
    pub(super) first: *mut u8,
    /// In bytes.
    pub(super) stride: isize,
    pub(super) count: usize,
    /// Of an element.
    pub(super) bytes: isize,
}

impl Elements {
    pub(super) fn new(first: *mut u8, stride: isize, count: usize, bytes: isize) -> Self {
        // One element has no distance to another.
        let stride = if count == 1 { bytes } else { stride };
        Self {
            first,
            stride,
            count,
            bytes,
        }
    }

    /// Returns the address of an element.
    pub(super) fn at(&self, index: usize) -> *mut u8 {
        self.first.wrapping_offset(self.stride * index as isize)
    }

    pub(super) fn stride_in_elements(&self) -> isize {
        self.stride / self.bytes
    }

    /// Returns the first byte and the one behind the last, of at least one element.
    fn range(&self) -> (isize, isize) {
        let (first, last) = (self.first as isize, self.at(self.count - 1) as isize);
        (first.min(last), first.max(last) + self.bytes)
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.first, self.stride, self.bytes) == (other.first, other.stride, other.bytes)
    }

    /// Returns whether no byte is in both. The answer may be no where that is hard to know.
    fn is_apart(&self, other: &Self) -> bool {
        let ((from, to), (first, end)) = (self.range(), other.range());
        if to <= first || end <= from {
            return true;
        }
        // Columns of one table.
        let step = self.stride.abs();
        if step == 0 || self.stride != other.stride {
            return false;
        }
        let distance = (other.first as isize - self.first as isize).rem_euclid(step);
        distance >= self.bytes && distance + other.bytes <= step
    }
}

/// Returns whether no call of an element writes what another one reads or writes, so that all are
/// one call of an op with `given` inputs.
pub(super) fn are_independent(arguments: &[Elements], given: usize, op: &OpHandle) -> bool {
    let (inputs, outputs) = arguments.split_at(given);
    arguments.iter().all(|one| one.stride % one.bytes == 0)
        && outputs.iter().enumerate().all(|(at, output)| {
            output.stride.abs() >= output.bytes
                && outputs[..at].iter().all(|other| output.is_apart(other))
                && inputs.iter().enumerate().all(|(place, input)| {
                    output.is_apart(input) || output.is_same(input) && shares(op, given + at, place)
                })
        })
}

/// Returns whether an op permits that an output is in an input's memory.
fn shares(op: &OpHandle, output: usize, input: usize) -> bool {
    let op = op.definition();
    let (output, input) = (op.argument_name(output), op.argument_name(input));
    op.in_place_pairs().any(|pair| pair == (&*output, &*input))
}

#[cfg(test)]
mod tests {
    use super::Elements;

    fn elements(at: isize, stride: isize, count: usize, bytes: isize) -> Elements {
        Elements::new((at + 4096) as *mut u8, stride, count, bytes)
    }

    /// Whether elements share a byte, by all of their bytes.
    fn overlap(one: &Elements, other: &Elements) -> bool {
        let bytes = |of: &Elements| {
            let mut all = Vec::new();
            for at in 0..of.count {
                all.extend((0..of.bytes).map(|byte| of.at(at) as isize + byte));
            }
            all
        };
        let others = bytes(other);
        bytes(one).iter().any(|byte| others.contains(byte))
    }

    #[test]
    fn elements_that_are_apart_share_no_byte() {
        let mut apart = 0;
        for at in -24..24 {
            for stride in [-8, -4, 0, 4, 8, 12] {
                for other in [-8, -4, 0, 4, 8, 12] {
                    for bytes in [1, 4, 8] {
                        let (one, other) =
                            (elements(0, stride, 3, 4), elements(at, other, 3, bytes));
                        if one.is_apart(&other) {
                            assert!(!overlap(&one, &other), "{one:?} {other:?}");
                            apart += 1;
                        }
                    }
                }
            }
        }
        assert!(apart > 500);
        // Neighbours in a table, and the same ones.
        assert!(elements(0, 8, 9, 4).is_apart(&elements(4, 8, 9, 4)));
        assert!(elements(4, 8, 9, 4).is_apart(&elements(0, 8, 9, 4)));
        assert!(!elements(0, 8, 9, 4).is_apart(&elements(2, 8, 9, 4)));
        assert!(elements(0, 8, 9, 4).is_same(&elements(0, 8, 9, 4)));
    }

    #[test]
    fn one_element_has_the_stride_of_its_bytes() {
        assert_eq!(elements(0, 0, 1, 4).stride_in_elements(), 1);
        assert_eq!(elements(0, -8, 2, 4).stride_in_elements(), -2);
    }
}
