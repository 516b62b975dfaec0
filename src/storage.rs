//! Memory and its owner.
//!
//! A [`Storage`] is a range of memory on some device, with an owner that it knows nothing about:
//! a `Vec`, a file mapped into memory, a buffer of another library with its deleter. Handles are
//! cheap to clone and keep the whole memory alive, also those to a part of it.
//!
//! ```
//! use dlbridge::Storage;
//!
//! let storage = Storage::from_vec(vec![1_u32, 2, 3]);
//! let part = storage.slice(4..12);
//! drop(storage);
//! assert_eq!(part.nbytes(), 8); // and the vector is still there
//! ```

mod create;
#[cfg(feature = "python")]
mod guarded;
mod host;
mod owner;
mod refcounted;
mod vec;

#[cfg(feature = "kernels")]
pub(crate) use host::Contents;
#[cfg(all(feature = "python", feature = "kernels"))]
pub(crate) use host::HostBuffer;
pub(crate) use owner::{Owner, SmallOwner};
pub(crate) use refcounted::{Counted, UninitCounted};
pub(crate) use vec::Stays;

pub use owner::SyncOwner;

use crate::device::Device;
use crate::error::{Error, SharedWith};
use owner::WeakOwner;
use std::fmt;
use std::ops::Range;

/// What may be done with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only the handles to it use the memory: the only handle may write.
    Exclusive,
    /// The library that it came from uses the memory too.
    Shared,
    /// The memory is never written.
    ReadOnly,
}

/// A range of memory, kept alive. See [this module](self).
///
/// # Examples
///
/// ```
/// use dlbridge::{DType, Storage, Tensor};
///
/// let storage = Storage::from_vec(vec![1_i32, 2, 3, 4]);
/// let tensor = Tensor::from_storage(storage, &[2, 2], DType::I32)?;
/// assert_eq!(tensor.transpose().to_vec::<i32>()?, [1, 3, 2, 4]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct Storage {
    memory: Memory,
    owner: Owner,
}

/// A handle to memory that doesn't keep it alive.
#[derive(Clone)]
pub struct WeakStorage {
    memory: Memory,
    owner: WeakOwner,
}

/// A range of memory, as long as it is there.
#[derive(Debug, Clone, Copy)]
struct Memory {
    data: *mut u8,
    bytes: usize,
    device: Device,
    access: Access,
    /// Whether some bytes may be in no element, and so another's, or uninitialised.
    has_gaps: bool,
}

// SAFETY: a storage gives no access to memory by itself; views do, and hand out plain numbers,
// and check that no code writes while other code reads.
unsafe impl Send for Memory {}
// SAFETY: shared references give plain numbers alone.
unsafe impl Sync for Memory {}

impl Memory {
    /// Creates storage of host memory.
    #[inline]
    fn host(data: *mut u8, bytes: usize, access: Access) -> Self {
        Self {
            data,
            bytes,
            device: Device::CPU,
            access,
            has_gaps: false,
        }
    }
}

impl Storage {
    /// Returns the owner, if it is one of this type that was given to
    /// [`from_sync_owner`](Self::from_sync_owner).
    pub fn sync_owner<O: SyncOwner>(&self) -> Option<&O> {
        self.innermost().inspect()
    }

    /// Returns the owner of the memory itself, without the guard around it.
    #[inline]
    fn innermost(&self) -> &Owner {
        #[cfg(feature = "python")]
        if let Some(inner) = self.inner() {
            return inner;
        }
        &self.owner
    }

    /// Waits until the CPU may access the memory, as far as its owner knows what else uses it.
    ///
    /// # Errors
    ///
    /// When the CPU can't reach the memory, or the owner can't wait.
    #[inline]
    pub(crate) fn settle(&self) -> Result<(), Error> {
        match self.device() {
            Device::CPU => Ok(()),
            device => self.settle_on(device),
        }
    }

    fn settle_on(&self, device: Device) -> Result<(), Error> {
        if !device.is_host_accessible() {
            return Err(Error::NotOnHost { device });
        }
        self.owner
            .settle()
            .map_err(|reason| Error::InUse { device, reason })
    }

    /// Returns what may be done with the memory.
    pub fn access(&self) -> Access {
        self.memory.access
    }

    /// Returns where the memory begins: an address on [`device`](Self::device), or a handle.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        self.memory.data
    }

    #[inline]
    pub(crate) fn data_mut(&self) -> *mut u8 {
        self.memory.data
    }

    /// Returns the size of the memory in bytes.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.memory.bytes
    }

    /// Returns the largest power of two that the address is a multiple of.
    pub fn alignment(&self) -> usize {
        1 << self
            .memory
            .data
            .addr()
            .trailing_zeros()
            .min(usize::BITS - 1)
    }

    /// Returns the device of the memory.
    #[inline]
    pub fn device(&self) -> Device {
        self.memory.device
    }

    /// Checks whether the memory must not be written.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.memory.access == Access::ReadOnly
    }

    /// Returns the name of the owner's Rust type.
    pub fn owner_name(&self) -> &'static str {
        self.innermost().name()
    }

    /// Returns the number of handles to the memory.
    pub fn handles(&self) -> usize {
        #[cfg(feature = "python")]
        if let Some(inner) = self.inner() {
            // The guard has one of them.
            return self.owner.handles() + inner.handles() - 1;
        }
        self.owner.handles()
    }

    /// Returns a part of the memory, which keeps all of it alive.
    ///
    /// # Panics
    ///
    /// When the range leaves the memory, or the device has no addresses to calculate with.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.memory.bytes,
            "range {range:?} is out of bounds for {} bytes",
            self.memory.bytes
        );
        assert!(
            self.memory.device.has_addresses(),
            "{} has no addresses to calculate with",
            self.memory.device
        );
        Self {
            memory: Memory {
                data: self.memory.data.wrapping_add(range.start),
                bytes: range.len(),
                ..self.memory
            },
            owner: self.owner.clone(),
        }
    }

    /// Makes the memory read-only through this handle or those made from it.
    #[must_use]
    pub fn into_read_only(mut self) -> Self {
        self.forbid_writing();
        self
    }

    /// Returns whether some of the bytes may be in none of the elements that the memory came with,
    /// as those between the rows of a strided tensor. Others may use them, so that they can't
    /// become elements of another tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::dlpack::{Description, DLDataType, DLDevice, Flags, Versioned, export};
    /// use dlbridge::{DType, Error, Tensor};
    ///
    /// let numbers = vec![1.0_f32, 2.0, 3.0];
    /// let every_other = Description {
    ///     data: numbers.as_ptr().cast_mut().cast(),
    ///     device: DLDevice::CPU,
    ///     dtype: DLDataType::F32,
    ///     shape: &[2],
    ///     strides: &[2],
    ///     byte_offset: 0,
    ///     flags: Flags::empty(),
    /// };
    /// // SAFETY: the description is of the numbers, which are moved into the export.
    /// let managed = unsafe { export::<Versioned, _>(&every_other, numbers) };
    /// let tensor = Tensor::from_dlpack(managed)?;
    /// assert!(tensor.storage().has_gaps());
    /// let all = Tensor::from_storage(tensor.storage().clone(), &[3], DType::F32);
    /// assert_eq!(all.unwrap_err(), Error::HasGaps);
    /// assert!(!tensor.copy()?.storage().has_gaps());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn has_gaps(&self) -> bool {
        self.memory.has_gaps
    }

    /// Says whether some of the bytes may be in no element.
    #[must_use]
    pub(crate) fn with_gaps(mut self, has_gaps: bool) -> Self {
        self.memory.has_gaps |= has_gaps;
        self
    }

    /// Checks whether each of the bytes may become part of an element.
    #[inline]
    pub(crate) fn check_gapless(&self) -> Result<(), Error> {
        match self.memory.has_gaps {
            true => Err(Error::HasGaps),
            false => Ok(()),
        }
    }

    pub(crate) fn forbid_writing(&mut self) {
        self.memory.access = Access::ReadOnly;
    }

    /// Returns a handle that doesn't keep the memory alive.
    pub fn downgrade(&self) -> WeakStorage {
        WeakStorage {
            memory: self.memory,
            owner: self.owner.downgrade(),
        }
    }

    /// Returns why the memory may not be written, however few handles there are.
    #[inline]
    pub(crate) fn never_exclusive(&self) -> Option<Error> {
        match self.memory.access {
            Access::ReadOnly => Some(Error::ReadOnly),
            Access::Shared => Some(Error::Shared {
                with: SharedWith::Producer,
            }),
            Access::Exclusive => None,
        }
    }

    /// Checks whether this is the only handle to memory that no other code uses.
    #[inline]
    pub(crate) fn is_exclusive(&mut self) -> bool {
        if self.memory.access != Access::Exclusive || !self.owner.is_unique() {
            return false;
        }
        #[cfg(feature = "python")]
        return self.is_inner_unique();
        #[cfg(not(feature = "python"))]
        true
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("memory", &self.memory)
            .field("owner", &self.owner_name())
            .field("handles", &self.handles())
            .finish()
    }
}

impl WeakStorage {
    /// Returns a handle that keeps the memory alive, if it still is.
    pub fn upgrade(&self) -> Option<Storage> {
        Some(Storage {
            memory: self.memory,
            owner: self.owner.upgrade()?,
        })
    }
}

impl fmt::Debug for WeakStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakStorage")
    }
}
