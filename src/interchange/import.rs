//! Import of a managed tensor as a [`Tensor`].

use crate::device::Device;
use crate::dlpack::{Abi, DLTensor, Flags, Managed};
use crate::dtype::DType;
use crate::error::Error;
use crate::layout::Layout;
use crate::storage::{Access, Owner, SmallOwner, Storage};
use crate::tensor::{Parts, Tensor, Uninit};
use std::ops::Range;
use std::ptr::{self, NonNull};

// SAFETY: the pointer is to a struct of pointers, aligned to 2 bytes at least.
unsafe impl<A: Abi> SmallOwner for Managed<A> {
    #[inline]
    fn into_words(self) -> [*mut (); 2] {
        [self.into_raw().as_ptr().cast(), ptr::null_mut()]
    }

    unsafe fn from_words([pointer, _]: [*mut (); 2]) -> Self {
        let pointer = NonNull::new(pointer.cast()).expect("it was not NULL");
        // SAFETY: the pointer came from `into_raw`.
        unsafe { Self::from_raw_unchecked(pointer) }
    }
}

impl Tensor {
    /// Takes over a managed tensor, without copying.
    ///
    /// Its deleter is called when the last handle to its memory is gone; at once, when it is
    /// refused. The memory may be read, and not be written from safe code, as its producer could be
    /// using it too: unless the flags say that it is a copy, which belongs to its consumer alone.
    ///
    /// What was exported here and comes back unchanged is the tensor that it was, with all that was
    /// known of it.
    ///
    /// # Errors
    ///
    /// When the descriptor makes no sense: see the invariants in [`layout`](crate::layout); or when
    /// DLPack 1.3 doesn't define its dtype or device.
    #[inline]
    pub fn from_dlpack<A: Abi>(managed: Managed<A>) -> Result<Self, Error> {
        match Self::returning(managed) {
            Ok(tensor) => Ok(tensor),
            Err(managed) => Self::foreign(managed),
        }
    }

    /// Returns the original tensor of an export of ours whose descriptor is unchanged.
    #[inline]
    pub(crate) fn returning<A: Abi>(managed: Managed<A>) -> Result<Self, Managed<A>> {
        match Self::behind(&managed) {
            Some(tensor) if tensor.is_described_by(managed.descriptor(), managed.flags()) => {
                managed.into_raw();
                // SAFETY: the line above took the handle out of the export, so it is used once.
                Ok(unsafe { Self::reclaim(tensor) })
            }
            _ => Err(managed),
        }
    }

    /// Creates a tensor that keeps the managed tensor as the owner of its memory.
    fn foreign<A: Abi>(managed: Managed<A>) -> Result<Self, Error> {
        let (descriptor, flags) = (*managed.descriptor(), managed.flags());
        // SAFETY: the managed tensor promises that its descriptor is true of the memory, and
        // honest flags, until its deleter is called, which dropping the owner does.
        unsafe { Self::adopt(&descriptor, flags, Owner::small(managed)) }
    }

    /// Creates a tensor from a descriptor. The owner is dropped on every path.
    ///
    /// # Errors
    ///
    /// The same as for [`from_dlpack`](Self::from_dlpack).
    ///
    /// # Safety
    ///
    /// While the owner lives, the descriptor is true, and the flags are honest.
    #[inline]
    pub(crate) unsafe fn adopt(
        descriptor: &DLTensor,
        flags: Flags,
        owner: Owner,
    ) -> Result<Self, Error> {
        let mut uninit = Uninit::new();
        // SAFETY: the descriptor is true while the owner lives, so shape and strides lead to as
        // many numbers as the rank says.
        let described = unsafe { Described::read(descriptor, flags, uninit.layout()) }?;
        let Described {
            device,
            dtype,
            padded,
            first,
            ref span,
            ..
        } = described;
        let copied = flags.contains(Flags::IS_COPIED);
        let access = if flags.contains(Flags::READ_ONLY) {
            Access::ReadOnly
        } else if copied {
            Access::Exclusive
        } else {
            Access::Shared
        };
        let mut has_gaps = uninit.layout().as_ref().has_gaps();
        let (data, bytes, offset) = if !device.has_addresses() {
            // A handle stays as it is, and so does the offset beside it.
            let offset = descriptor.byte_offset as usize;
            has_gaps |= offset != 0;
            let data = descriptor.data.cast::<u8>();
            (data, offset.saturating_add_signed(span.end), offset)
        } else if uninit.layout().is_empty() {
            (first, 0, 0)
        } else {
            // The storage is what the elements touch, from the lowest on.
            let lowest = first.wrapping_offset(span.start);
            (lowest, span.len(), span.start.unsigned_abs())
        };
        // SAFETY: descriptor and flags are true while the owner lives, which the storage keeps;
        // memory is exclusive only where the flags say that it is a copy. They are true of the
        // elements alone, and the storage says if there is more.
        let storage = unsafe { Storage::from_parts(data, bytes, device, access, owner) };
        let storage = storage.with_gaps(has_gaps);
        let parts = Parts {
            storage,
            offset,
            dtype,
            padded,
            copied,
        };
        // SAFETY: the storage begins at the lowest element, and the layout was checked.
        Ok(unsafe { uninit.finish(parts) })
    }
}

/// What most descriptors say: of elements on the host, in numbers that are as wide as ours.
#[cfg(feature = "python")]
pub(crate) struct Usual {
    pub(crate) first: *mut u8,
    pub(crate) dtype: DType,
    pub(crate) rank: usize,
    pub(crate) sizes: *const isize,
    /// NULL for row-major ones.
    pub(crate) strides: *const isize,
    pub(crate) read_only: bool,
}

#[cfg(feature = "python")]
impl Usual {
    /// Returns what a descriptor says; `None` for one that says more, or something wrong.
    #[inline(always)]
    pub(crate) fn from_descriptor(descriptor: &DLTensor, flags: Flags) -> Option<Self> {
        let rank = usize::try_from(descriptor.ndim).ok()?;
        let is_usual = descriptor.device == Device::CPU.into()
            && descriptor.byte_offset == 0
            && (flags - Flags::READ_ONLY).is_empty()
            && (rank == 0 || !descriptor.shape.is_null())
            && size_of::<i64>() == size_of::<isize>();
        if !is_usual {
            return None;
        }
        Some(Self {
            first: descriptor.data.cast(),
            dtype: DType::try_from(descriptor.dtype).ok()?,
            rank,
            sizes: descriptor.shape.cast(),
            strides: descriptor.strides.cast(),
            read_only: flags.contains(Flags::READ_ONLY),
        })
    }

    /// Returns what a tensor's descriptor says; `None` where that is more.
    #[inline]
    pub(crate) fn from_tensor(tensor: &Tensor) -> Option<Self> {
        let layout = tensor.layout();
        (tensor.device() == Device::CPU && !tensor.is_padded()).then(|| Self {
            first: tensor.data_ptr().cast_mut(),
            dtype: tensor.dtype(),
            rank: layout.rank(),
            sizes: layout.shape().as_ptr().cast(),
            strides: layout.strides().as_ptr(),
            read_only: tensor.is_read_only(),
        })
    }

    /// Returns the descriptor, and its flags.
    #[inline]
    pub(crate) fn descriptor(&self) -> (DLTensor, Flags) {
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, self.read_only);
        let descriptor = DLTensor {
            data: self.first.cast(),
            device: Device::CPU.into(),
            ndim: self.rank as i32,
            dtype: self.dtype.into(),
            shape: self.sizes.cast_mut().cast(),
            strides: self.strides.cast_mut().cast(),
            byte_offset: 0,
        };
        (descriptor, flags)
    }
}

#[cfg(feature = "python")]
impl Tensor {
    /// Imports like [`adopt`](Self::adopt), on a fast path; returns the owner if it doesn't apply.
    ///
    /// # Safety
    ///
    /// While the owner lives, what is said is true. Sizes and strides are read here, and not kept.
    #[inline]
    pub(crate) unsafe fn adopt_usual(usual: &Usual, owner: Owner) -> Result<Self, Owner> {
        let Usual { first, dtype, .. } = *usual;
        let mut uninit = Uninit::new();
        let layout = uninit.layout();
        // SAFETY: what `usual` says is true, so sizes and strides lead to as many numbers as the
        // rank says.
        if !unsafe { layout.become_row_major(usual.rank, usual.sizes, usual.strides) } {
            return Err(owner);
        }
        let Some(bytes) = layout.as_ref().bytes_at(first.addr(), dtype) else {
            return Err(owner);
        };
        let access = if usual.read_only {
            Access::ReadOnly
        } else {
            Access::Shared
        };
        // SAFETY: what `usual` says is true while the owner lives, which the storage keeps.
        let storage = unsafe { Storage::from_parts(first, bytes, Device::CPU, access, owner) };
        let parts = Parts {
            storage,
            offset: 0,
            dtype,
            padded: false,
            copied: false,
        };
        // SAFETY: the storage is all that the layout leads to, which was checked.
        Ok(unsafe { uninit.finish(parts) })
    }
}

/// What a descriptor says, checked, beside the layout.
pub(crate) struct Described {
    pub(crate) device: Device,
    pub(crate) dtype: DType,
    pub(crate) padded: bool,
    /// The address of the element of index 0; of a handle, nothing that can be used.
    pub(crate) first: *mut u8,
    /// The bytes that the elements touch, from there on.
    pub(crate) span: Range<isize>,
}

impl Described {
    /// Reads and validates a descriptor into a layout, which is a scalar's before.
    ///
    /// # Errors
    ///
    /// The same as for [`Tensor::from_dlpack`].
    ///
    /// # Safety
    ///
    /// Shape and strides, where they aren't NULL, lead to as many numbers as the rank says.
    #[inline(always)]
    pub(crate) unsafe fn read(
        descriptor: &DLTensor,
        flags: Flags,
        layout: &mut Layout,
    ) -> Result<Self, Error> {
        let device = Device::try_from(descriptor.device)?;
        let dtype = DType::try_from(descriptor.dtype)?;
        let padded = flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED) && dtype.is_sub_byte();
        let data = descriptor.data.cast::<u8>();
        let byte_offset = descriptor.byte_offset;
        // SAFETY: shape and strides, where they aren't NULL, lead to as many numbers as the rank
        // says.
        unsafe { layout.become_c(descriptor.ndim, descriptor.shape, descriptor.strides) }?;
        let addresses = device.has_addresses();
        let span =
            layout
                .as_ref()
                .check_memory(dtype, padded, data.addr(), byte_offset, addresses)?;
        Ok(Self {
            device,
            dtype,
            padded,
            first: data.wrapping_add(byte_offset as usize),
            span,
        })
    }
}

impl<A: Abi> TryFrom<Managed<A>> for Tensor {
    type Error = Error;

    fn try_from(managed: Managed<A>) -> Result<Self, Error> {
        Self::from_dlpack(managed)
    }
}
