//! The order in which the elements of several tensors are visited together: as few dimensions as
//! possible, sorted by the strides of the first tensor.

use crate::layout::LayoutRef;

/// One of the tensors of a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    /// The address of the element of index 0.
    pub(crate) first: *mut u8,
    pub(crate) layout: LayoutRef<'a>,
    /// The size of an element in bytes.
    pub(crate) item: usize,
}

impl Operand<'_> {
    /// Returns the stride of an axis in bytes. That of fewer than two elements leads nowhere and
    /// may be any number; so may all those of an empty tensor.
    pub(super) fn stride(&self, axis: usize) -> isize {
        match self.layout.shape()[axis] {
            0 | 1 => 0,
            _ => self.layout.strides()[axis].wrapping_mul(self.item as isize),
        }
    }
}

/// A dimension that tensors have in common. Strides are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dim<const N: usize> {
    pub(super) size: usize,
    pub(super) strides: [isize; N],
}

impl<const N: usize> Dim<N> {
    pub(super) const NONE: Self = Self {
        size: 1,
        strides: [0; N],
    };
}

/// Elements of several tensors, by the same index in all of them.
#[derive(Debug)]
pub(super) struct Plan<const N: usize> {
    /// Where the visit begins: no stride of the first tensor leads back from there.
    pub(super) first: [*mut u8; N],
    /// The dimensions, outermost first: in this order the first tensor's strides decrease.
    pub(super) dims: Vec<Dim<N>>,
}

impl<const N: usize> Plan<N> {
    /// Plans a visit of tensors of one shape, which isn't empty.
    pub(super) fn new(operands: &[Operand<'_>; N]) -> Self {
        let mut first = operands.map(|operand| operand.first);
        let mut dims = Vec::with_capacity(operands[0].layout.rank());
        for (axis, &size) in operands[0].layout.shape().iter().enumerate() {
            if size == 1 {
                continue;
            }
            let mut strides = operands.each_ref().map(|operand| operand.stride(axis));
            if strides[0] < 0 {
                for (first, stride) in first.iter_mut().zip(&mut strides) {
                    *first = first.wrapping_offset(*stride * (size as isize - 1));
                    *stride = -*stride;
                }
            }
            dims.push(Dim { size, strides });
        }
        // Stable, so that dimensions of equal strides keep their order.
        dims.sort_by_key(|dim: &Dim<N>| std::cmp::Reverse(dim.strides[0]));
        merge(&mut dims);
        Self { first, dims }
    }
}

/// Merges dimensions of which the outer one's step is one whole run of the inner one, in all
/// tensors.
pub(super) fn merge<const N: usize>(dims: &mut Vec<Dim<N>>) {
    let kept = merge_slice(dims);
    dims.truncate(kept);
}

/// [`merge`] of the dimensions of a slice. Returns how many are left, at its beginning.
pub(super) fn merge_slice<const N: usize>(dims: &mut [Dim<N>]) -> usize {
    let mut kept = 0;
    for at in 0..dims.len() {
        let dim = dims[at];
        let continues = kept > 0 && {
            let outer = &dims[kept - 1].strides;
            let mut pairs = outer.iter().zip(&dim.strides);
            pairs.all(|(outer, inner)| inner.checked_mul(dim.size as isize) == Some(*outer))
        };
        if continues {
            dims[kept - 1].size *= dim.size;
            dims[kept - 1].strides = dim.strides;
        } else {
            dims[kept] = dim;
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    fn plan<const N: usize>(shape: &[usize], strides: [&[isize]; N]) -> Vec<(usize, [isize; N])> {
        let layouts = strides.map(|strides| Layout::strided(shape, strides).unwrap());
        let operands = layouts.each_ref().map(|layout| Operand {
            first: std::ptr::null_mut::<u8>().wrapping_add(1 << 20),
            layout: layout.as_ref(),
            item: 4,
        });
        let plan = Plan::new(&operands);
        plan.dims
            .iter()
            .map(|dim| (dim.size, dim.strides))
            .collect()
    }

    #[test]
    fn plan_merges_what_is_contiguous_in_all_tensors() {
        assert_eq!(plan(&[], [&[], &[]]), []);
        assert_eq!(plan(&[2, 3, 4], [&[12, 4, 1], &[12, 4, 1]]), [(24, [4, 4])]);
        assert_eq!(plan(&[2, 1, 4], [&[4, 9, 1], &[4, 7, 1]]), [(8, [4, 4])]);
        assert_eq!(plan(&[3, 4], [&[4, 1], &[0, 0]]), [(12, [4, 0])]);
        assert_eq!(
            plan(&[3, 4], [&[4, 1], &[0, 1]]),
            [(3, [16, 0]), (4, [4, 4])]
        );
    }

    #[test]
    fn plan_sorts_by_the_strides_of_the_first_tensor() {
        assert_eq!(plan(&[2, 3], [&[1, 2], &[1, 2]]), [(6, [4, 4])]);
        assert_eq!(
            plan(&[2, 3], [&[1, 2], &[3, 1]]),
            [(3, [8, 4]), (2, [4, 12])]
        );
    }

    #[test]
    fn plan_turns_negative_strides_of_the_first_tensor_around() {
        assert_eq!(plan(&[6], [&[-1], &[-1]]), [(6, [4, 4])]);
        assert_eq!(plan(&[6], [&[-2], &[1]]), [(6, [8, -4])]);
        assert_eq!(plan(&[2, 3], [&[-3, -1], &[-3, -1]]), [(6, [4, 4])]);
    }
}
