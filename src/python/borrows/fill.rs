//! Descriptions of tensors, filled into an entry.

use super::entry::{Entry, KeptLayout};
use super::keep_alive::Aligned;
use crate::device::Device;
use crate::dlpack::{DLTensor, Flags};
use crate::dtype::DType;
use crate::interchange::{Described, Usual};
use crate::layout::Layout;
use crate::python::error::{Refused, not_importable};
use std::ptr;

impl Entry {
    /// Fills in the usual case: elements on the host, one after another, or in the layout that the
    /// entry keeps. `false`, and a blank entry, in any other.
    ///
    /// # Safety
    ///
    /// What is said is true for as long as the entry is in use.
    #[inline(always)]
    pub(in crate::python) unsafe fn fill_usual(&mut self, usual: &Usual) -> bool {
        let Usual {
            first,
            dtype,
            rank,
            sizes,
            strides,
            ..
        } = *usual;
        self.read_only = usual.read_only;
        // SAFETY: there are as many sizes, and strides or NULL, as the rank says.
        unsafe {
            matches!(self.kept_layout, KeptLayout::Strided { .. })
                && self.place_described_as_before(first, dtype, rank, sizes, strides)
                || self.arrange(rank, sizes, strides) && self.place(first, dtype)
        }
    }

    /// Fills in what a descriptor says: quickly in the usual case, else by the validator.
    ///
    /// # Safety
    ///
    /// The descriptor is true for as long as the entry is in use.
    #[inline(always)]
    pub(in crate::python) unsafe fn fill(
        &mut self,
        descriptor: &DLTensor,
        flags: Flags,
    ) -> Result<(), Refused> {
        // SAFETY: the descriptor is true for as long as the entry is in use.
        unsafe {
            match Usual::from_descriptor(descriptor, flags) {
                Some(usual) => self.fill_or_validate(&usual),
                None => self.validate(descriptor, flags),
            }
        }
    }

    /// Fills in the usual case, or what the validator makes of it.
    ///
    /// # Safety
    ///
    /// What is said is true for as long as the entry is in use.
    #[inline(always)]
    pub(in crate::python) unsafe fn fill_or_validate(
        &mut self,
        usual: &Usual,
    ) -> Result<(), Refused> {
        // SAFETY: what is said is true for as long as the entry is in use.
        unsafe {
            if self.fill_usual(usual) {
                return Ok(());
            }
            let (descriptor, flags) = usual.descriptor();
            self.validate(&descriptor, flags)
        }
    }

    /// [`place_as_before`](Self::place_as_before) for a layout of these numbers, in a function of
    /// its own: beside the code for elements one after another it would take registers from that.
    ///
    /// # Safety
    ///
    /// The same as for [`arrange`](Self::arrange).
    #[inline(never)]
    unsafe fn place_described_as_before(
        &mut self,
        first: *mut u8,
        dtype: DType,
        rank: usize,
        sizes: *const isize,
        strides: *const isize,
    ) -> bool {
        self.place_as_before(first, dtype, |layout| {
            // SAFETY: there are as many sizes, and strides or NULL, as the rank says.
            !strides.is_null() && unsafe { layout.is_described_by(rank, sizes, strides) }
        })
    }

    /// Fills in the layout of elements one after another. Where the entry was last used for one of
    /// the same numbers, which is usual for calls in a loop, it is there already.
    ///
    /// `false`, and a blank entry, where the numbers say something else.
    ///
    /// # Safety
    ///
    /// The same as for [`become_row_major`](crate::layout::Layout::become_row_major).
    #[inline(always)]
    pub(in crate::python) unsafe fn arrange(
        &mut self,
        rank: usize,
        sizes: *const isize,
        strides: *const isize,
    ) -> bool {
        // SAFETY: there are as many sizes, and strides or NULL, as the rank says; the layout is
        // row-major where the entry says that it keeps such a one.
        unsafe {
            self.kept_layout == KeptLayout::RowMajor
                && self.layout.is_described_by(rank, sizes, strides)
                || self.arrange_anew(rank, sizes, strides)
        }
    }

    /// Fills in the layout if the entry has another one.
    ///
    /// # Safety
    ///
    /// The same as for [`arrange`](Self::arrange).
    #[inline(never)]
    unsafe fn arrange_anew(
        &mut self,
        rank: usize,
        sizes: *const isize,
        strides: *const isize,
    ) -> bool {
        // SAFETY: there are as many sizes, and strides or NULL, as the rank says.
        let is_row_major = unsafe { self.layout.become_row_major(rank, sizes, strides) };
        self.kept_layout = if is_row_major {
            KeptLayout::RowMajor
        } else {
            KeptLayout::None
        };
        is_row_major
    }

    /// Fills in the address of elements of the strided layout and the dtype that the entry keeps.
    /// `false` where it keeps none or others, or where the elements don't lie in the address space:
    /// the validator tells why.
    #[inline(always)]
    pub(in crate::python) fn place_as_before(
        &mut self,
        first: *mut u8,
        dtype: DType,
        is_same: impl FnOnce(&Layout) -> bool,
    ) -> bool {
        let KeptLayout::Strided { start, end } = self.kept_layout else {
            return false;
        };
        if dtype != self.dtype || !is_same(&self.layout) {
            return false;
        }
        let address = first.addr();
        let (Some(low), Some(high)) = (
            address.checked_add_signed(start),
            address.checked_add_signed(end),
        ) else {
            return false;
        };
        if address == 0 || low == 0 {
            return false;
        }
        self.first = first;
        self.bytes = low..high;
        true
    }

    /// Keeps the layout that was validated, if it is one that [`KeptLayout::Strided`] describes.
    #[inline]
    pub(in crate::python) fn keep_strided(&mut self) {
        if self.device == Device::CPU && !self.padded && !self.layout().is_contiguous() {
            let first = self.first.addr();
            self.kept_layout = KeptLayout::Strided {
                start: self.bytes.start.wrapping_sub(first) as isize,
                end: self.bytes.end.wrapping_sub(first) as isize,
            };
        }
    }

    /// Makes a blank entry's layout a scalar's.
    #[inline]
    pub(in crate::python) fn become_scalar(&mut self) {
        self.kept_layout = KeptLayout::None;
        self.layout.become_scalar();
    }

    /// Fills in elements one after another on the host, for a layout that is arranged: what
    /// `check_memory` does in general. `false` where that is needed.
    #[inline(always)]
    pub(in crate::python) fn place(&mut self, first: *mut u8, dtype: DType) -> bool {
        let begin = first.addr();
        let Some(bytes) = self.layout().bytes_at(begin, dtype) else {
            return false;
        };
        self.first = first;
        self.bytes = begin..begin + bytes;
        self.dtype = dtype;
        self.device = Device::CPU;
        self.padded = false;
        true
    }

    /// Validates a descriptor, and fills it in.
    ///
    /// # Safety
    ///
    /// The descriptor is true for as long as the entry is in use.
    #[inline]
    unsafe fn validate(&mut self, descriptor: &DLTensor, flags: Flags) -> Result<(), Refused> {
        self.become_scalar();
        // SAFETY: a true descriptor has as many numbers as its rank says; the layout is a scalar's.
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
        self.keep_strided();
        Ok(())
    }

    /// Fills in a number as a tensor of rank 0, without its address: see
    /// [`point_to_number`](crate::python::borrows::point_to_number).
    pub(in crate::python) fn borrow_number(&mut self, number: Aligned, dtype: DType) {
        self.become_scalar();
        self.set_number(number);
        self.dtype = dtype;
        self.device = Device::CPU;
        self.padded = false;
        self.read_only = true;
        self.object = ptr::null_mut();
    }

    /// Returns whether an object says in the same numbers what the entry says of it. `false` says
    /// nothing: see [`is_the_same_as`](Self::is_the_same_as).
    ///
    /// # Safety
    ///
    /// There are as many sizes, and strides or NULL, as the rank says.
    #[inline]
    pub(in crate::python) unsafe fn is_described_by(&self, usual: &Usual) -> bool {
        self.device == Device::CPU
            && !self.padded
            && self.first == usual.first
            && self.dtype == usual.dtype
            && !usual.strides.is_null()
            // SAFETY: there are as many sizes and strides as the rank says.
            && unsafe { (self.layout).is_described_by(usual.rank, usual.sizes, usual.strides) }
    }

    /// Returns whether both entries describe the same elements.
    pub(in crate::python) fn is_the_same_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.layout(), other.layout());
        let memory = |entry: &Self| (entry.first.addr(), entry.bytes.clone());
        let have_same_strides = || {
            let strides = ours.strides().iter().zip(theirs.strides());
            let mut dims = ours.shape().iter().zip(strides);
            dims.all(|(size, (ours, theirs))| *size == 1 || ours == theirs)
        };
        ours.shape() == theirs.shape()
            && (self.dtype, self.device, self.padded) == (other.dtype, other.device, other.padded)
            && (ours.is_empty() || memory(self) == memory(other) && have_same_strides())
    }
}
