//! What a borrowed argument looks like, by whichever way its object offers.

use super::buffer::Buffer;
use super::error::{Refused, not_exchangeable, not_importable};
use super::lane::{Lane, Maker};
use super::ledger::Entry;
use super::{class, numpy, torch};
use crate::device::Device;
use crate::dlpack::python::{Named, Offer, Table, Wish, ask};
use crate::dlpack::{DLDeviceType, DLTensor, Flags, Legacy, Managed, Versioned};
use crate::dtype::DType;
use crate::interchange::Described;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::mem::MaybeUninit;
use std::ptr;

/// What keeps an argument's memory alive, beside its object.
pub(super) enum Keep {
    /// Nothing: the object does.
    Object,
    Managed(#[allow(dead_code, reason = "it is kept")] Managed<Versioned>),
    /// It isn't taken: whoever made it releases it, with the capsule.
    Capsule(#[allow(dead_code, reason = "it is kept")] Py<PyCapsule>),
    Buffer(#[allow(dead_code, reason = "it is kept")] Box<Buffer>),
    /// A number, in the entry itself.
    Number(Aligned),
}

/// Room for the largest number, as strictly aligned as any.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Aligned([u8; 16]);

impl Aligned {
    /// Up to 16 bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut this = Self([0; 16]);
        this.0[..bytes.len()].copy_from_slice(bytes);
        this
    }
}

impl Entry {
    /// Fills the entry with what an object's tensor looks like.
    ///
    /// # Errors
    ///
    /// When the object is no tensor, or one that can't be used.
    #[inline(never)]
    pub(super) fn look(
        &mut self,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        if numpy::look_at_usual(object, self) || torch::look_at_usual(object, self) {
            return Ok(());
        }
        self.look_at_any(object, is_written)
    }

    #[inline(never)]
    fn look_at_any(
        &mut self,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        match Lane::of(object)? {
            // SAFETY: lanes are those of the object's type.
            Lane::Numpy => unsafe { numpy::look(object, self) },
            // SAFETY: as above.
            Lane::Table(table, maker) => unsafe { self.look_by(table, maker, object, is_written) },
            // SAFETY: as above.
            Lane::Own => unsafe { self.look_at_own(object) },
            Lane::Buffer(speaks_dlpack) => match self.look_at_buffer(object, is_written) {
                Err(_) if speaks_dlpack => self.look_into_capsule(object),
                outcome => outcome,
            },
            Lane::Protocol => self.look_into_capsule(object),
        }
    }

    /// # Safety
    ///
    /// The table is that of the object's type.
    #[inline]
    unsafe fn look_by(
        &mut self,
        table: Table,
        maker: Maker,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        if maker == Maker::Torch {
            torch::guard(object)?;
        }
        // Only the owned call tells whether memory is read-only: it is taken where that matters,
        // of those who know the difference.
        let is_borrowed = table.can_borrow() && !(is_written && maker == Maker::Other);
        if is_borrowed {
            let mut room = MaybeUninit::uninit();
            // SAFETY: the caller's promise.
            let Some(descriptor) = (unsafe { table.borrow_to(object, &mut room) }) else {
                return Err(table.borrow_error(object.py()).into());
            };
            // SAFETY: the object keeps what the descriptor says.
            if unsafe { self.fill_usual(descriptor) } {
                return Ok(());
            }
            // SAFETY: as above.
            return unsafe { self.fill(descriptor, Flags::empty()) };
        }
        // SAFETY: the caller's promise.
        let managed = unsafe { table.own(object) }?;
        // SAFETY: the managed tensor keeps what the descriptor says.
        unsafe { self.fill(managed.descriptor(), managed.flags()) }?;
        self.keep = Keep::Managed(managed);
        Ok(())
    }

    /// Takes what a descriptor says in the usual case: elements one after another, on the host, that
    /// may be written. `false`, and a blank entry, in any other.
    ///
    /// # Safety
    ///
    /// As of [`fill`](Self::fill).
    #[inline(always)]
    pub(super) unsafe fn fill_usual(&mut self, descriptor: &DLTensor) -> bool {
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
    pub(super) fn place(&mut self, first: *mut u8, len: usize, dtype: DType) -> bool {
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
    pub(super) unsafe fn fill(
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

    /// # Safety
    ///
    /// The object is of our own class.
    unsafe fn look_at_own(&mut self, object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
        // SAFETY: the caller's promise.
        let tensor = unsafe { class::tensor_of(object) };
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, tensor.is_read_only());
        flags.set(Flags::IS_SUBBYTE_TYPE_PADDED, tensor.is_padded());
        // SAFETY: the object keeps the tensor, which never changes.
        unsafe { self.fill(&tensor.describe(), flags) }
    }

    fn look_at_buffer(
        &mut self,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        let buffer = Buffer::of(object, is_written)?;
        let mut strides = Vec::new();
        let (descriptor, flags) = buffer.describe(&mut strides)?;
        // SAFETY: a buffer keeps its memory until it is released; the strides are only read here.
        unsafe { self.fill(&descriptor, flags) }?;
        self.keep = Keep::Buffer(buffer);
        Ok(())
    }

    fn look_into_capsule(&mut self, object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
        let capsule = ask(&object, &Wish::default())?;
        match Offer::of(capsule.as_any().as_borrowed())? {
            Offer::Versioned(capsule) => self.look_at_managed::<Versioned>(capsule),
            Offer::Legacy(capsule) => self.look_at_managed::<Legacy>(capsule),
        }?;
        self.keep = Keep::Capsule(capsule.unbind());
        Ok(())
    }

    fn look_at_managed<A: Named>(
        &mut self,
        capsule: Borrowed<'_, '_, PyCapsule>,
    ) -> Result<(), Refused> {
        let managed = Offer::look::<A>(capsule)?;
        // SAFETY: the version was checked, and the capsule keeps the managed tensor.
        let managed = unsafe { managed.as_ref() };
        // SAFETY: the managed tensor keeps what it says, and is kept by the capsule.
        unsafe { self.fill(managed.descriptor(), managed.flags()) }
    }

    /// Takes a number as a tensor of rank 0.
    pub(super) fn look_at_number(&mut self, bytes: Aligned, dtype: DType) {
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

    /// Has the memory kept by something that also keeps it while other threads run Python: the
    /// reference to an object does, unless what was borrowed from it through its table may change.
    pub(super) fn own(&mut self, py: Python<'_>) -> Result<(), Refused> {
        if !matches!(self.keep, Keep::Object) || self.object.is_null() {
            return Ok(());
        }
        // SAFETY: the entry has a reference to the object.
        let object = unsafe { Borrowed::from_ptr(py, self.object) };
        let Lane::Table(table, _) = Lane::of(object)? else {
            return Ok(());
        };
        // SAFETY: the table is that of the object's type.
        let managed = unsafe { table.own(object) }?;
        let descriptor = managed.descriptor();
        let offset = descriptor.byte_offset as usize;
        let first = descriptor.data.cast::<u8>().wrapping_add(offset);
        // SAFETY: as many sizes as the rank says.
        let shape_is_the_same = usize::try_from(descriptor.ndim) == Ok(self.layout.rank())
            && (0..self.layout.rank()).all(|axis| unsafe {
                usize::try_from(*descriptor.shape.add(axis)) == Ok(self.layout.shape()[axis])
            });
        if !shape_is_the_same || (first != self.first && !self.layout.is_empty()) {
            return Err(
                not_exchangeable("the tensor was changed by someone else during the call").into(),
            );
        }
        self.keep = Keep::Managed(managed);
        Ok(())
    }
}
