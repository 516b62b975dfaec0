//! The validator: the only code that makes a [`Layout`] of numbers from outside.

use super::{Dims, INLINE_RANK, Layout, LayoutRef, MAX_RANK};
use crate::dtype::DType;
use crate::error::LayoutError;

impl Layout {
    /// A row-major layout, its elements one after another.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold.
    pub fn contiguous(shape: &[usize]) -> Result<Self, LayoutError> {
        Self::build(shape.len(), |sizes, _| {
            sizes.copy_from_slice(shape);
            Ok(Strides::RowMajor)
        })
    }

    /// A layout with the strides given, counted in elements.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold.
    pub fn strided(shape: &[usize], strides: &[isize]) -> Result<Self, LayoutError> {
        if shape.len() != strides.len() {
            return Err(LayoutError::StrideCount {
                sizes: shape.len(),
                strides: strides.len(),
            });
        }
        Self::build(shape.len(), |sizes, steps| {
            sizes.copy_from_slice(shape);
            steps.copy_from_slice(strides);
            Ok(Strides::Given)
        })
    }

    /// A layout from the fields of a C descriptor.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold. Whatever the numbers are, nothing
    /// but the numbers of an allowed rank is read.
    ///
    /// # Safety
    ///
    /// `shape` and `strides` are each NULL or point to `ndim` numbers, for an `ndim` from 0 to
    /// [`MAX_RANK`].
    pub unsafe fn from_c(
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> Result<Self, LayoutError> {
        let rank = usize::try_from(ndim).map_err(|_| LayoutError::NegativeRank { rank: ndim })?;
        if rank > 0 && shape.is_null() {
            return Err(LayoutError::NullShape { rank });
        }
        Self::build(rank, |sizes, steps| {
            for (axis, to) in sizes.iter_mut().enumerate() {
                // SAFETY: the shape isn't NULL where there is an axis, and as long as the rank.
                let size = unsafe { shape.add(axis).read() };
                *to = match usize::try_from(size) {
                    Ok(size) => size,
                    Err(_) if size < 0 => return Err(LayoutError::NegativeSize { axis, size }),
                    Err(_) => return Err(LayoutError::TooManyElements),
                };
            }
            if strides.is_null() {
                return Ok(Strides::RowMajor);
            }
            for (axis, to) in steps.iter_mut().enumerate() {
                // SAFETY: the strides aren't NULL, and as long as the rank.
                let stride = unsafe { strides.add(axis).read() };
                // On a 32-bit machine a stride that isn't looked at may still not fit.
                *to = isize::try_from(stride).unwrap_or(if stride < 0 {
                    isize::MIN
                } else {
                    isize::MAX
                });
            }
            Ok(Strides::Given)
        })
    }

    /// Makes room for `rank` dimensions, has them written, and checks what was written.
    pub(super) fn build(
        rank: usize,
        write: impl FnOnce(&mut [usize], &mut [isize]) -> Result<Strides, LayoutError>,
    ) -> Result<Self, LayoutError> {
        if rank > MAX_RANK {
            return Err(LayoutError::RankTooLarge { rank });
        }
        let dims = if rank <= INLINE_RANK {
            Dims::Inline {
                rank: rank as u8,
                shape: [0; INLINE_RANK],
                strides: [0; INLINE_RANK],
            }
        } else {
            Dims::Heap {
                shape: vec![0; rank].into_boxed_slice(),
                strides: vec![0; rank].into_boxed_slice(),
            }
        };
        let mut layout = Self { len: 0, dims };
        let (shape, strides) = layout.dims_mut();
        let given = write(shape, strides)?;
        layout.len = match given {
            Strides::RowMajor => write_row_major(shape, strides)?,
            Strides::Given => {
                let len = count(shape)?;
                extent(shape, strides, len)?;
                len
            }
        };
        Ok(layout)
    }
}

/// Where the strides of a layout come from.
pub(super) enum Strides {
    /// They were written.
    Given,
    /// They follow from the sizes.
    RowMajor,
}

/// Invariant 5, and the number of elements.
fn count(shape: &[usize]) -> Result<usize, LayoutError> {
    let mut product = 1_usize;
    let mut empty = false;
    for &size in shape {
        empty |= size == 0;
        product = product
            .checked_mul(size.max(1))
            .filter(|product| *product <= isize::MAX as usize)
            .ok_or(LayoutError::TooManyElements)?;
    }
    Ok(if empty { 0 } else { product })
}

/// Writes row-major strides; with them, invariant 6 follows from invariant 5.
fn write_row_major(shape: &[usize], strides: &mut [isize]) -> Result<usize, LayoutError> {
    let len = count(shape)?;
    let mut step = 1;
    for (size, stride) in shape.iter().zip(strides).rev() {
        *stride = step;
        // No overflow: these products are part of the one that `count` checked.
        step *= (*size).max(1) as isize;
    }
    Ok(len)
}

/// Invariant 6: the offsets of the first and the last element in memory, counted in elements from
/// the element of index 0. Of an empty tensor, both are 0.
fn extent(shape: &[usize], strides: &[isize], len: usize) -> Result<(isize, isize), LayoutError> {
    let (mut first, mut last) = (0_isize, 0_isize);
    if len == 0 {
        return Ok((0, 0));
    }
    for (&size, &stride) in shape.iter().zip(strides) {
        // A size is at most isize::MAX, as the product of all of them is.
        let reach = (size as isize - 1)
            .checked_mul(if size > 1 { stride } else { 0 })
            .ok_or(LayoutError::TooManyElements)?;
        let end = if reach < 0 { &mut first } else { &mut last };
        *end = end.checked_add(reach).ok_or(LayoutError::TooManyElements)?;
    }
    match last.checked_sub(first) {
        Some(_) => Ok((first, last)),
        None => Err(LayoutError::TooManyElements),
    }
}

impl LayoutRef<'_> {
    /// The offsets of the first and the last element in memory, counted in elements from the
    /// element of index 0; `None` where there are no elements.
    pub fn extent(self) -> Option<(isize, isize)> {
        if self.is_empty() {
            return None;
        }
        let checked = extent(self.shape(), self.strides(), self.len());
        Some(checked.expect("invariant 6 holds for every layout"))
    }

    /// The offset in bits at which the first element in memory begins and the last one ends, from
    /// the element of index 0: invariant 7.
    pub(super) fn bit_extent(
        self,
        dtype: DType,
        padded: bool,
    ) -> Result<(isize, isize), LayoutError> {
        let too_large = || LayoutError::ExtentTooLarge { dtype };
        let Some((first, last)) = self.extent() else {
            return Ok((0, 0));
        };
        let step = dtype.step_bits(padded) as isize;
        let begin = first.checked_mul(step).ok_or_else(too_large)?;
        let end = last
            .checked_add(1)
            .and_then(|end| end.checked_mul(step))
            .ok_or_else(too_large)?;
        // The distance between both ends must be a number too.
        end.checked_sub(begin).ok_or_else(too_large)?;
        Ok((begin, end))
    }

    /// Checks that elements of this type lie in the address space: invariants 7 to 9.
    ///
    /// `data` is the data pointer, and `byte_offset` what is added to it; `has_addresses` tells
    /// whether it is an address that can be calculated with (see
    /// [`Device::has_addresses`](crate::Device::has_addresses)).
    ///
    /// # Errors
    ///
    /// When one of the invariants doesn't hold.
    pub fn check_memory(
        self,
        dtype: DType,
        padded: bool,
        data: usize,
        byte_offset: u64,
        has_addresses: bool,
    ) -> Result<(), LayoutError> {
        if padded && (!dtype.is_sub_byte() || dtype.lanes() != 1) {
            return Err(LayoutError::CannotPad { dtype });
        }
        let (begin, end) = self.bit_extent(dtype, padded)?;
        if self.is_empty() {
            return Ok(());
        }
        if data == 0 {
            return Err(LayoutError::NullData {
                elements: self.len(),
            });
        }
        if !has_addresses {
            return Ok(());
        }
        let inside = usize::try_from(byte_offset)
            .ok()
            .and_then(|offset| data.checked_add(offset))
            .and_then(|first| {
                let lowest = first.checked_add_signed(begin.div_euclid(8))?;
                let highest = first
                    .checked_add_signed(end.div_euclid(8))?
                    .checked_add(1)?;
                Some((lowest, highest))
            });
        match inside {
            Some(_) => Ok(()),
            None => Err(LayoutError::AddressOverflow { data, byte_offset }),
        }
    }
}
