//! [`Strided`]: a layout as kernels take it, by value.

use crate::cuda::driver::error::CudaError;
use crate::kernel::Operand;
use smallvec::SmallVec;

/// The most dimensions that kernels count through, once those that can be are merged.
pub(super) const MOST: usize = 8;

/// The sizes of N tensors of one shape, and their strides, counted in elements, as `common.cuh` has
/// them: the dimension that changes fastest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Strided<const N: usize> {
    pub(super) rank: i64,
    pub(super) sizes: [i64; MOST],
    pub(super) strides: [[i64; MOST]; N],
}

impl<const N: usize> Strided<N> {
    const SCALAR: Self = Self {
        rank: 1,
        sizes: [1; MOST],
        strides: [[0; MOST]; N],
    };

    /// Returns the layouts of operands of one shape, for kernels to which the order of elements is
    /// all the same: the first dimension is the one in which the first operand's elements are next
    /// to each other.
    pub(super) fn of(operands: [&Operand<'_>; N]) -> Result<Self, CudaError> {
        let stride = |k: usize, axis: usize| operands[k].layout().strides()[axis] as i64;
        let shape = operands[0].shape();
        let axes = (0..shape.len()).rev();
        Self::sorted(axes.map(|axis| {
            let strides = std::array::from_fn(|k| stride(k, axis));
            (shape[axis] as i64, strides)
        }))
    }

    /// Dimensions in the order of the first tensor's strides.
    pub(super) fn sorted(
        dims: impl IntoIterator<Item = (i64, [i64; N])>,
    ) -> Result<Self, CudaError> {
        let mut dims: SmallVec<[_; MOST]> = dims.into_iter().filter(|dim| dim.0 != 1).collect();
        dims.sort_by_key(|(_, strides)| strides[0].unsigned_abs());
        Self::collect(dims)
    }

    /// Returns the same over some of the dimensions. Those of size 1 are left out, and neighbours
    /// that are one in all of the tensors become one.
    pub(super) fn over(
        operands: [&Operand<'_>; N],
        takes: impl Fn(usize) -> bool,
    ) -> Result<Self, CudaError> {
        let shape = operands[0].shape();
        let stride = |k: usize, axis: usize| operands[k].layout().strides()[axis] as i64;
        let axes = (0..shape.len()).rev().filter(|axis| takes(*axis));
        let dims = axes.map(|axis| {
            let strides = std::array::from_fn(|k| stride(k, axis));
            (shape[axis] as i64, strides)
        });
        Self::collect(dims)
    }

    /// Dimensions, the fastest one first.
    pub(super) fn collect(
        dims: impl IntoIterator<Item = (i64, [i64; N])>,
    ) -> Result<Self, CudaError> {
        let mut this = Self::SCALAR;
        let mut rank = 0;
        for (size, strides) in dims {
            if size == 1 {
                continue;
            }
            if rank > 0 {
                let last = rank - 1;
                let continues = (0..N).all(|k| {
                    let step = this.strides[k][last].checked_mul(this.sizes[last]);
                    step == Some(strides[k])
                });
                if continues {
                    this.sizes[last] *= size;
                    continue;
                }
            }
            if rank == MOST {
                return Err(too_many());
            }
            this.sizes[rank] = size;
            (0..N).for_each(|k| this.strides[k][rank] = strides[k]);
            rank += 1;
        }
        this.rank = rank.max(1) as i64;
        Ok(this)
    }

    /// Returns some dimensions as they are, followed by others, merged.
    pub(super) fn apart(
        first: &[(i64, [i64; N])],
        others: impl IntoIterator<Item = (i64, [i64; N])>,
    ) -> Result<Self, CudaError> {
        let others = Self::collect(others)?;
        let rank = if others.count() == 1 {
            0
        } else {
            others.rank as usize
        };
        if first.len() + rank > MOST {
            return Err(too_many());
        }
        let mut this = Self::SCALAR;
        let dims =
            (0..rank).map(|at| (others.sizes[at], others.strides.map(|strides| strides[at])));
        for (at, (size, strides)) in first.iter().copied().chain(dims).enumerate() {
            this.sizes[at] = size;
            (0..N).for_each(|k| this.strides[k][at] = strides[k]);
        }
        this.rank = (first.len() + rank).max(1) as i64;
        Ok(this)
    }

    /// Returns how many elements each has.
    pub(super) fn count(&self) -> usize {
        self.sizes[..self.rank as usize].iter().product::<i64>() as usize
    }

    /// Returns the product of all sizes but the fastest dimension's.
    pub(super) fn rows(&self) -> usize {
        self.sizes[1..self.rank as usize].iter().product::<i64>() as usize
    }

    /// Returns whether all of them lie one element after another.
    pub(super) fn is_flat(&self) -> bool {
        self.rank == 1 && (self.sizes[0] == 1 || self.strides.iter().all(|strides| strides[0] == 1))
    }

    /// Returns whether numbers of elements, and their offsets, are below 2^31.
    pub(super) fn is_narrow(&self) -> bool {
        let reach = |strides: &[i64; MOST]| -> i128 {
            let dims = self.sizes.iter().zip(strides).take(self.rank as usize);
            dims.map(|(size, stride)| i128::from(size - 1) * i128::from(stride.abs()))
                .sum()
        };
        let limit = i128::from(i32::MAX);
        (self.count() as i128) < limit && self.strides.iter().all(|strides| reach(strides) < limit)
    }

    /// Returns whether all strides but the fastest dimension's are multiples of a number of
    /// elements, in the tensor of this number.
    pub(super) fn steps_by(&self, tensor: usize, elements: usize) -> bool {
        let strides = &self.strides[tensor][1..self.rank as usize];
        strides.iter().all(|stride| stride % elements as i64 == 0)
    }
}

#[cold]
fn too_many() -> CudaError {
    let problem =
        format!("kernels count through {MOST} dimensions at most, and these layouts have more");
    CudaError::Copy { problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(dims: &[(i64, [i64; N])]) -> Strided<N> {
        Strided::collect(dims.iter().copied()).unwrap()
    }

    #[test]
    fn dense_operands_are_flat() {
        let dense = of(&[(5, [1, 1]), (1, [77, 3]), (4, [5, 5]), (3, [20, 20])]);
        assert!(dense.is_flat() && dense.is_narrow());
        assert_eq!((dense.rank, dense.count(), dense.rows()), (1, 60, 1));
        assert!(of::<2>(&[]).is_flat());
        assert!(!of(&[(5, [1, 2])]).is_flat());
    }

    #[test]
    fn equally_permuted_operands_are_flat() {
        let transposed = Strided::sorted([(4, [5, 5]), (1, [9, 2]), (5, [1, 1])]).unwrap();
        assert!(transposed.is_flat());
        let turned = Strided::sorted([(4, [5, 1]), (5, [1, 4])]).unwrap();
        assert_eq!(
            (turned.sizes[..2].to_vec(), turned.strides[1][..2].to_vec()),
            (vec![5, 4], vec![4, 1])
        );
    }

    #[test]
    fn broadcast_dimensions_are_not_merged() {
        let row = of(&[(5, [1, 1]), (4, [5, 0]), (3, [20, 0])]);
        assert_eq!(
            (row.rank, row.rows(), row.strides[1][..2].to_vec()),
            (2, 12, vec![1, 0])
        );
        assert!(row.steps_by(0, 5) && !row.steps_by(0, 2) && row.steps_by(1, 16));
    }

    #[test]
    fn offsets_beyond_32_bits_are_not_narrow() {
        assert!(!of(&[(3, [1 << 30])]).is_narrow());
        assert!(!of(&[(3, [-(1 << 30)])]).is_narrow());
        assert!(of(&[(2, [1 << 30])]).is_narrow());
        let many: Vec<_> = (0..9).map(|axis| (2, [3 * 7_i64.pow(axis)])).collect();
        assert!(Strided::collect(many).is_err());
    }
}
