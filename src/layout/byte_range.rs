//! The bytes that the elements touch, and whether they can exist: invariants 6 to 9.

use super::LayoutRef;
use super::error::LayoutError;
use crate::dtype::DType;
use std::ops::Range;

/// Returns the offsets of the first and the last element in memory, counted in elements from the
/// element of index 0. No size is 0, and invariant 5 holds; `None` where invariant 6 doesn't.
pub(super) fn extent(shape: &[usize], strides: &[isize]) -> Option<(isize, isize)> {
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
    /// Returns the offsets of the first and the last element in memory, counted in elements from
    /// the element of index 0; `None` where there are no elements.
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

    /// Returns the offset in bits at which the first element in memory begins and the last one
    /// ends, from the element of index 0: invariant 7. `None` where that doesn't hold.
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

    /// Returns the bytes that the elements touch, relative to the element of index 0; none where
    /// there are no elements.
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

/// Returns the range of bytes that contains a range of bits.
fn whole_bytes(begin: isize, end: isize) -> Range<isize> {
    begin >> 3..(end >> 3) + isize::from(end & 7 != 0)
}

/// Checks invariant 9, for bytes relative to the data pointer with its offset.
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
