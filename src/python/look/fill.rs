//! What descriptors say of a tensor, taken into an entry.

use super::{Aligned, Keep};
use crate::device::Device;
use crate::dlpack::{DLDeviceType, DLTensor, Flags};
use crate::dtype::DType;
use crate::interchange::Described;
use crate::python::error::{Refused, not_importable};
use crate::python::ledger::Entry;
use std::ptr;

impl Entry {
    /// Takes what a descriptor says in the usual case: elements one after another, on the host, that
    /// may be written. `false`, and a blank entry, in any other.
    ///
    /// # Safety
    ///
    /// As of [`fill`](Self::fill).
    #[inline(always)]
    pub(in crate::python) unsafe fn fill_usual(&mut self, descriptor: &DLTensor) -> bool {
        let device = descriptor.device;
        if device.device_type != DLDeviceType::CPU
            || device.device_id != 0
            || descriptor.byte_offset != 0
            || size_of::<i64>() != size_of::<isize>()
        {
            return false;
        }
        let (shape, strides) = (descriptor.shape.cast(), descriptor.strides.cast());
        let (Ok(dtype), Ok(rank)) = (
            DType::try_from(descriptor.dtype),
            usize::try_from(descriptor.ndim),
        ) else {
            return false;
        };
        if rank > 0 && descriptor.shape.is_null() {
            return false;
        }
        // SAFETY: the caller's promise: as many numbers as the rank says.
        let len = unsafe { self.layout.become_row_major(rank, shape, strides) };
        let Some(len) = len else { return false };
        self.read_only = false;
        self.place(descriptor.data.cast(), len, dtype)
    }

    /// Takes elements one after another on the host, for a layout that has that many: what
    /// `check_memory` does in general. `false`, and a scalar's layout, where that is needed.
    #[inline(always)]
    pub(in crate::python) fn place(&mut self, first: *mut u8, len: usize, dtype: DType) -> bool {
        let begin = first.addr();
        let bits = dtype.item_bits();
        let end = len
            .checked_mul(bits / 8)
            .filter(|bytes| *bytes <= isize::MAX as usize / 8 && begin != 0)
            .and_then(|bytes| begin.checked_add(bytes));
        let Some(end) = end.filter(|_| bits.is_multiple_of(8)) else {
            self.layout.become_scalar();
            return false;
        };
        self.first = first;
        self.bytes = begin..end;
        self.dtype = dtype;
        self.device = Device::CPU;
        self.padded = false;
        true
    }

    /// Takes what a descriptor says, after checking it.
    ///
    /// # Safety
    ///
    /// The descriptor is true for as long as the entry is in use.
    #[inline]
    pub(in crate::python) unsafe fn fill(
        &mut self,
        descriptor: &DLTensor,
        flags: Flags,
    ) -> Result<(), Refused> {
        // SAFETY: a true descriptor has as many numbers as its rank says; the entry is blank, so
        // its layout is a scalar's.
        let described = unsafe { Described::read(descriptor, flags, &mut self.layout) };
        let described = match described {
            Ok(described) => described,
            Err(error) => return Err(not_importable(error).into()),
        };
        self.first = if described.device.has_addresses() {
            described.first
        } else {
            descriptor.data.cast()
        };
        let first = self.first.addr();
        self.bytes = first.wrapping_add_signed(described.span.start)
            ..first.wrapping_add_signed(described.span.end);
        self.dtype = described.dtype;
        self.device = described.device;
        self.padded = described.padded;
        self.read_only = flags.contains(Flags::READ_ONLY);
        Ok(())
    }

    /// Takes a number as a tensor of rank 0.
    pub(in crate::python) fn look_at_number(&mut self, bytes: Aligned, dtype: DType) {
        self.keep = Keep::Number(bytes);
        let Keep::Number(number) = &mut self.keep else {
            unreachable!("it was just written")
        };
        self.first = number.0.as_mut_ptr();
        let first = self.first.addr();
        self.bytes = first..first + dtype.item_bits() / 8;
        self.dtype = dtype;
        self.device = Device::CPU;
        self.padded = false;
        self.read_only = true;
        self.object = ptr::null_mut();
    }
}
