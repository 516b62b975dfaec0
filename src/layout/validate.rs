//! The validator: the only code that makes a [`Layout`] of numbers from outside.

#[cfg(feature = "python")]
use super::are_same;
use super::{Dims, INLINE_RANK, Layout, LayoutRef, MAX_RANK};
use crate::dtype::DType;
use crate::error::LayoutError;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;

#[cfg(all(test, feature = "python"))]
mod tests;

impl Layout {
    /// A row-major layout, its elements one after another.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold.
    #[inline]
    pub fn contiguous(shape: &[usize]) -> Result<Self, LayoutError> {
        let mut layout = Self::SCALAR;
        layout.become_contiguous(shape)?;
        Ok(layout)
    }

    /// [`contiguous`](Self::contiguous), in place.
    #[inline]
    pub(crate) fn become_contiguous(&mut self, shape: &[usize]) -> Result<(), LayoutError> {
        self.rebuild(shape.len(), |axis| Ok((shape[axis], None)))
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
        Self::build(shape.len(), |axis| Ok((shape[axis], Some(strides[axis]))))
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
        let mut layout = Self::SCALAR;
        // SAFETY: the caller's promise.
        unsafe { layout.become_c(ndim, shape, strides) }?;
        Ok(layout)
    }

    /// Makes a scalar's layout of any.
    #[cfg(feature = "python")]
    #[inline]
    pub(crate) fn become_scalar(&mut self) {
        match &mut self.dims {
            Dims::Inline { rank, .. } => *rank = 0,
            Dims::Heap { .. } => *self = Self::SCALAR,
        }
        self.len = 1;
    }

    /// Whether these are the numbers, as C has them, that the layout was made of, or of which it
    /// would be made just the same.
    ///
    /// # Safety
    ///
    /// [`become_row_major`](Self::become_row_major) made the layout, and the caller promises what
    /// it asks for.
    #[cfg(feature = "python")]
    #[inline(always)]
    pub(crate) unsafe fn is_row_major_of(
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
        // SAFETY: the caller's promise. A size that is negative is none of ours.
        unsafe {
            are_same(layout.shape, slice::from_raw_parts(sizes.cast(), rank))
                && (strides.is_null()
                    || are_same(layout.strides, slice::from_raw_parts(strides, rank)))
        }
    }

    /// The layout of elements one after another, as [`contiguous`](Self::contiguous) makes it, in
    /// place and in few steps, of numbers as C has them. `false`, and a layout that must be made
    /// anew, where that isn't the layout, its numbers are wrong, or there are more than are kept inline.
    ///
    /// # Safety
    ///
    /// `sizes`, and `strides` where it isn't NULL, lead to as many numbers as the rank says.
    #[cfg(feature = "python")]
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
            // SAFETY: the caller's promise.
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

    /// [`from_c`](Self::from_c), in place.
    ///
    /// # Safety
    ///
    /// As of [`from_c`](Self::from_c).
    #[inline]
    pub(crate) unsafe fn become_c(
        &mut self,
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> Result<(), LayoutError> {
        let rank = usize::try_from(ndim).map_err(|_| LayoutError::NegativeRank { rank: ndim })?;
        if rank > 0 && shape.is_null() {
            return Err(LayoutError::NullShape { rank });
        }
        self.rebuild(rank, |axis| {
            // SAFETY: the shape isn't NULL where there is an axis, and as long as the rank.
            let size = unsafe { shape.add(axis).read() };
            let size = usize::try_from(size).map_err(|_| no_size(axis, size))?;
            if strides.is_null() {
                return Ok((size, None));
            }
            // SAFETY: the strides aren't NULL, and as long as the rank.
            let stride = unsafe { strides.add(axis).read() };
            // What doesn't fit on a 32-bit machine may be a stride that isn't looked at. Where one
            // is, this value is refused.
            Ok((size, Some(isize::try_from(stride).unwrap_or(isize::MIN))))
        })
    }

    /// A layout of `rank` dimensions, of which `dim` tells the size and the stride; without a
    /// stride, it is the row-major one. What `dim` tells is checked.
    #[inline]
    pub(super) fn build(
        rank: usize,
        dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
    ) -> Result<Self, LayoutError> {
        let mut layout = Self::SCALAR;
        layout.rebuild(rank, dim)?;
        Ok(layout)
    }

    /// [`build`](Self::build), in place, as moving what was just written costs more than writing
    /// it. What was there before must be a scalar; it still is where this fails.
    #[inline]
    pub(crate) fn rebuild(
        &mut self,
        rank: usize,
        dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
    ) -> Result<(), LayoutError> {
        if rank > INLINE_RANK {
            return self.rebuild_on_heap(rank, dim);
        }
        let Dims::Inline {
            rank: old_rank,
            contiguous,
            shape,
            strides,
        } = &mut self.dims
        else {
            unreachable!("a scalar's dimensions are inline")
        };
        let facts = check(&mut shape[..rank], &mut strides[..rank], dim)?;
        *old_rank = rank as u32;
        *contiguous = facts.contiguous;
        self.len = facts.len;
        Ok(())
    }

    #[cold]
    fn rebuild_on_heap(
        &mut self,
        rank: usize,
        dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
    ) -> Result<(), LayoutError> {
        if rank > MAX_RANK {
            return Err(LayoutError::RankTooLarge { rank });
        }
        let mut shape = Box::new_uninit_slice(rank);
        let mut strides = Box::new_uninit_slice(rank);
        let facts = check(&mut shape, &mut strides, dim)?;
        // SAFETY: checking writes both.
        let (shape, strides) = unsafe { (shape.assume_init(), strides.assume_init()) };
        *self = Self {
            len: facts.len,
            dims: Dims::Heap {
                contiguous: facts.contiguous,
                shape,
                strides,
            },
        };
        Ok(())
    }
}

/// A size, and a stride unless it is the row-major one.
pub(crate) type Dim = (usize, Option<isize>);

/// What checking finds out.
struct Facts {
    len: usize,
    contiguous: bool,
}

/// Writes all sizes and strides, and checks invariants 5 and 6.
#[inline]
fn check(
    shape: &mut [MaybeUninit<usize>],
    strides: &mut [MaybeUninit<isize>],
    mut dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
) -> Result<Facts, LayoutError> {
    let mut product = 1_usize;
    let (mut empty, mut contiguous) = (false, true);
    for (axis, to) in shape.iter_mut().zip(&mut *strides).enumerate().rev() {
        let (size, stride) = dim(axis)?;
        let row_major = product as isize;
        let stride = stride.unwrap_or(row_major);
        to.0.write(size);
        to.1.write(stride);
        contiguous &= size == 1 || stride == row_major;
        empty |= size == 0;
        match product.checked_mul(size.max(1)) {
            Some(larger) if larger <= isize::MAX as usize => product = larger,
            _ => return Err(too_many_elements()),
        }
    }
    if empty {
        return Ok(Facts {
            len: 0,
            contiguous: true,
        });
    }
    if !contiguous {
        // SAFETY: both were written above, as long as they are.
        let (shape, strides) = unsafe {
            (
                slice::from_raw_parts(shape.as_ptr().cast::<usize>(), shape.len()),
                slice::from_raw_parts(strides.as_ptr().cast::<isize>(), strides.len()),
            )
        };
        // Of elements one after another, invariant 6 follows from invariant 5.
        if extent(shape, strides).is_none() {
            return Err(LayoutError::TooFar);
        }
    }
    Ok(Facts {
        len: product,
        contiguous,
    })
}

#[cold]
fn no_size(axis: usize, size: i64) -> LayoutError {
    if size < 0 {
        LayoutError::NegativeSize { axis, size }
    } else {
        LayoutError::TooManyElements
    }
}

#[cold]
fn too_many_elements() -> LayoutError {
    LayoutError::TooManyElements
}

/// The offsets of the first and the last element in memory, counted in elements from the element
/// of index 0. No size is 0, and invariant 5 holds; `None` where invariant 6 doesn't.
fn extent(shape: &[usize], strides: &[isize]) -> Option<(isize, isize)> {
    let (mut first, mut last) = (0_isize, 0_isize);
    for (&size, &stride) in shape.iter().zip(strides) {
        if size > 1 {
            let reach = stride.checked_mul(size as isize - 1)?;
            if reach < 0 {
                first = first.checked_add(reach)?;
            } else {
                last = last.checked_add(reach)?;
            }
        }
    }
    last.checked_sub(first)?;
    Some((first, last))
}

impl LayoutRef<'_> {
    /// The offsets of the first and the last element in memory, counted in elements from the
    /// element of index 0; `None` where there are no elements.
    #[inline]
    pub fn extent(self) -> Option<(isize, isize)> {
        if self.is_empty() {
            return None;
        }
        if self.is_contiguous() {
            return Some((0, self.len() as isize - 1));
        }
        let extent = extent(self.shape(), self.strides());
        Some(extent.expect("invariant 6 holds for every layout"))
    }

    /// The offset in bits at which the first element in memory begins and the last one ends, from
    /// the element of index 0: invariant 7. `None` where that doesn't hold.
    #[inline]
    pub(super) fn bit_extent(self, dtype: DType, padded: bool) -> Option<(isize, isize)> {
        let Some((first, last)) = self.extent() else {
            return Some((0, 0));
        };
        let step = dtype.step_bits(padded) as isize;
        let begin = first.checked_mul(step)?;
        let end = last.checked_add(1)?.checked_mul(step)?;
        // The distance between both ends must be a number too.
        end.checked_sub(begin)?;
        Some((begin, end))
    }

    /// Checks that elements of this type lie in the address space: invariants 7 to 9.
    ///
    /// `data` is the data pointer, and `byte_offset` what is added to it; `has_addresses` tells
    /// whether it is an address that can be calculated with (see
    /// [`Device::has_addresses`](crate::Device::has_addresses)).
    ///
    /// Returns the bytes that the elements touch, relative to the element of index 0; none where
    /// there are no elements.
    ///
    /// # Errors
    ///
    /// When one of the invariants doesn't hold.
    #[inline(always)]
    pub fn check_memory(
        self,
        dtype: DType,
        padded: bool,
        data: usize,
        byte_offset: u64,
        has_addresses: bool,
    ) -> Result<Range<isize>, LayoutError> {
        // The usual case needs no general arithmetic, and no answer that goes through memory.
        if self.is_contiguous() && !padded && byte_offset == 0 && data != 0 {
            let bits = dtype.step_bits(false);
            if bits.is_multiple_of(8)
                && let Some(bytes) = self.len().checked_mul(bits / 8)
                && bytes <= isize::MAX as usize / 8
                && data.checked_add(bytes).is_some()
            {
                return Ok(0..bytes as isize);
            }
        }
        self.check_any_memory(dtype, padded, data, byte_offset, has_addresses)
    }

    #[inline(never)]
    fn check_any_memory(
        self,
        dtype: DType,
        padded: bool,
        data: usize,
        byte_offset: u64,
        has_addresses: bool,
    ) -> Result<Range<isize>, LayoutError> {
        if padded && (!dtype.is_sub_byte() || dtype.lanes() != 1) {
            return Err(LayoutError::CannotPad { dtype });
        }
        let Some((begin, end)) = self.bit_extent(dtype, padded) else {
            return Err(LayoutError::ExtentTooLarge { dtype });
        };
        let span = whole_bytes(begin, end);
        if self.is_empty() {
            return Ok(span);
        }
        if data == 0 {
            return Err(LayoutError::NullData {
                elements: self.len(),
            });
        }
        // What lies before and behind a handle, only its device knows.
        if has_addresses && !is_in_address_space(data, byte_offset, &span) {
            return Err(LayoutError::AddressOverflow { data, byte_offset });
        }
        Ok(span)
    }

    /// The bytes that the elements touch, relative to the element of index 0; none where there are
    /// no elements.
    ///
    /// # Panics
    ///
    /// When [`check_memory`](Self::check_memory) refuses the element type.
    pub fn byte_span(self, dtype: DType, padded: bool) -> Range<isize> {
        let (begin, end) = self
            .bit_extent(dtype, padded)
            .expect("an element type for which the layout was checked");
        whole_bytes(begin, end)
    }
}

/// The bytes that hold the bits.
fn whole_bytes(begin: isize, end: isize) -> Range<isize> {
    begin >> 3..(end >> 3) + isize::from(end & 7 != 0)
}

/// Invariant 9, for bytes relative to the data pointer with its offset.
///
/// Address 0 is in no memory: a view that begins there would have elements at NULL.
fn is_in_address_space(data: usize, byte_offset: u64, span: &Range<isize>) -> bool {
    let first = usize::try_from(byte_offset)
        .ok()
        .and_then(|offset| data.checked_add(offset));
    first.is_some_and(|first| {
        let lowest = first.checked_add_signed(span.start);
        lowest.is_some_and(|lowest| lowest > 0) && first.checked_add_signed(span.end).is_some()
    })
}
