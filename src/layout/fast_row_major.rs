//! Fast path of row-major layouts from C's numbers: validation, comparison and byte range, for
//! arguments of calls from Python. Its results equal those of the validator.
//!
//! Gain: by the validator, a call with three NumPy arrays takes 77 to 91% longer.

use super::{Dims, INLINE_RANK, Layout, LayoutRef, slice_eq};
use crate::dtype::DType;
use std::slice;

#[cfg(test)]
mod tests;

impl Layout {
    /// Turns any layout into a scalar's, in place.
    #[inline]
    pub(crate) fn become_scalar(&mut self) {
        match &mut self.dims {
            Dims::Inline {
                rank, contiguous, ..
            } => {
                *rank = 0;
                *contiguous = true;
            }
            Dims::Heap { .. } => *self = Self::SCALAR,
        }
        self.len = 1;
    }

    /// Returns whether C's sizes and strides are those of this layout. Without strides, only the
    /// sizes are compared, as for a layout that is row-major.
    ///
    /// # Safety
    ///
    /// `sizes`, and `strides` unless it is NULL, point to `rank` numbers.
    #[inline(always)]
    pub(crate) unsafe fn is_described_by(
        &self,
        rank: usize,
        sizes: *const isize,
        strides: *const isize,
    ) -> bool {
        let layout = self.as_ref();
        if rank != layout.rank() {
            return false;
        }
        if rank == 0 {
            return true;
        }
        // SAFETY: `sizes` and `strides` (unless NULL) point to `rank` numbers, by this function's
        // contract. A negative size differs from all of ours.
        unsafe {
            slice_eq(layout.shape, slice::from_raw_parts(sizes.cast(), rank))
                && (strides.is_null()
                    || slice_eq(layout.strides, slice::from_raw_parts(strides, rank)))
        }
    }

    /// Rebuilds the C-contiguous layout, as [`contiguous`](Self::contiguous) makes it, in place and
    /// in few steps, of numbers as C has them. `false`, and a layout that must be made anew, where
    /// that isn't the layout, its numbers are wrong, or there are more than are kept inline.
    ///
    /// # Safety
    ///
    /// `sizes`, and `strides` where it isn't NULL, lead to as many numbers as the rank says.
    #[inline(always)]
    pub(crate) unsafe fn become_row_major(
        &mut self,
        rank: usize,
        sizes: *const isize,
        strides: *const isize,
    ) -> bool {
        let Dims::Inline {
            rank: old_rank,
            contiguous,
            shape: to_shape,
            strides: to_strides,
        } = &mut self.dims
        else {
            return false;
        };
        if rank > INLINE_RANK {
            return false;
        }
        let (mut step, mut len) = (1_isize, 1_isize);
        for axis in (0..rank).rev() {
            // SAFETY: `axis < rank`, and `sizes` and `strides` (unless NULL) point to `rank`
            // numbers, by this function's contract.
            let (size, stride) = unsafe {
                let stride = if strides.is_null() {
                    step
                } else {
                    *strides.add(axis)
                };
                (*sizes.add(axis), stride)
            };
            to_shape[axis].write(size as usize);
            to_strides[axis].write(stride);
            len = len.wrapping_mul(size);
            match step.checked_mul(size.max(1)) {
                Some(next) if size >= 0 && stride == step => step = next,
                _ => return false,
            }
        }
        *old_rank = rank as u32;
        *contiguous = true;
        self.len = len as usize;
        true
    }
}

impl LayoutRef<'_> {
    /// Returns the bytes of elements of whole bytes, one after another on the host: what
    /// [`check_memory`](Self::check_memory) finds out, in few steps. `None` where it has to be
    /// asked.
    #[inline(always)]
    pub(crate) fn bytes_at(self, first: usize, dtype: DType) -> Option<usize> {
        let bits = usize::from(dtype.bits());
        let bytes = self.len().checked_mul(bits / 8)?;
        let fits = bytes <= isize::MAX as usize / 8 && first.checked_add(bytes).is_some();
        (fits && first != 0 && bits.is_multiple_of(8) && dtype.lanes() == 1).then_some(bytes)
    }
}
