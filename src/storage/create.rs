//! Constructors of storage: from Rust owners, from foreign memory, and by allocation.

use super::host::{Contents, HostBuffer};
use super::{Access, Memory, Owner, Storage, SyncOwner};
use crate::device::Device;
use crate::dtype::Element;
use crate::error::Error;
use std::ptr;

impl Storage {
    /// Takes over a `Vec`, without copying.
    #[inline]
    pub fn from_vec<T: Element>(mut vec: Vec<T>) -> Self {
        let bytes = size_of_val(vec.as_slice());
        Self {
            memory: Memory::host(vec.as_mut_ptr().cast(), bytes, Access::Exclusive),
            owner: Owner::small(vec),
        }
    }

    /// Takes over anything that holds elements, to be read: `Arc<[T]>`, `Box<[T]>`, `&'static [T]`,
    /// the `bytes` crate's `Bytes`, a file mapped into memory.
    ///
    /// ```
    /// use dlbridge::Storage;
    /// use std::sync::Arc;
    ///
    /// let shared: Arc<[f32]> = Arc::from([1.0, 2.0]);
    /// let storage = Storage::from_owner(Arc::clone(&shared));
    /// assert_eq!(storage.data_ptr().cast(), shared.as_ptr());
    /// assert!(storage.is_read_only());
    /// ```
    pub fn from_owner<T: Element>(owner: impl AsRef<[T]> + Send + 'static) -> Self {
        // The slice is borrowed from an owner that stays where it is and isn't touched until it
        // is dropped, which is what the borrow would have demanded.
        let (owner, (data, bytes)) = Owner::lend(owner, |owner| {
            let slice: &[T] = (*owner).as_ref();
            (slice.as_ptr(), size_of_val(slice))
        });
        Self {
            memory: Memory::host(data.cast_mut().cast(), bytes, Access::ReadOnly),
            owner,
        }
    }

    /// Creates storage like [`from_owner`](Self::from_owner), readable and writable.
    ///
    /// This is not for `bool`: as bytes, the elements could become others than 0 and 1, which the
    /// owner would find in them.
    pub fn from_owner_mut<T: Element>(owner: impl AsMut<[T]> + Send + 'static) -> Self {
        const {
            assert!(
                T::ANY_BITS,
                "the owner would find other bytes than bools in them"
            )
        };
        let (owner, (data, bytes)) = Owner::lend(owner, |owner| {
            let slice: &mut [T] = owner.as_mut();
            (slice.as_mut_ptr(), size_of_val(slice))
        });
        Self {
            memory: Memory::host(data.cast(), bytes, Access::Exclusive),
            owner,
        }
    }

    /// Takes over memory on any device; `release` is called once, when the last handle is gone.
    ///
    /// The memory counts as shared with others; so writing it from Rust needs an unsafe promise.
    ///
    /// # Safety
    ///
    /// Until `release` is called, `data` leads to `bytes` bytes on `device` (or is a handle to
    /// them), initialised where Rust code may read them, and the rest of what
    /// [`Managed::from_raw`](crate::dlpack::Managed::from_raw) asks of memory holds.
    pub unsafe fn from_raw(
        data: *mut u8,
        bytes: usize,
        device: Device,
        release: impl FnOnce() + Send + 'static,
    ) -> Self {
        struct Release<F: FnOnce()>(Option<F>);
        impl<F: FnOnce()> Drop for Release<F> {
            fn drop(&mut self) {
                self.0.take().into_iter().for_each(|release| release());
            }
        }
        Self {
            memory: Memory {
                data,
                bytes,
                device,
                access: Access::Shared,
                has_gaps: false,
            },
            owner: Owner::lend(Release(Some(release)), |_| ()).0,
        }
    }

    /// Allocates zeroed host memory, aligned to 64 bytes, and to 256 from a page up.
    ///
    /// # Errors
    ///
    /// When there is not enough memory.
    pub fn zeroed(bytes: usize) -> Result<Self, Error> {
        Self::host(bytes, Contents::Zeros)
    }

    /// Allocates host memory like [`zeroed`](Self::zeroed), but uninitialised.
    ///
    /// # Safety
    ///
    /// No code reads a byte before it is written.
    ///
    /// # Errors
    ///
    /// When there is not enough memory.
    pub unsafe fn uninit(bytes: usize) -> Result<Self, Error> {
        Self::arbitrary(bytes)
    }

    /// Allocates host memory like [`zeroed`](Self::zeroed), of whatever bits it has.
    pub(crate) fn arbitrary(bytes: usize) -> Result<Self, Error> {
        Self::host(bytes, Contents::Arbitrary)
    }

    fn host(bytes: usize, contents: Contents) -> Result<Self, Error> {
        if bytes == 0 {
            return Ok(Self::empty(Device::CPU));
        }
        let (buffer, data) = HostBuffer::allocate(bytes, contents)?;
        Ok(Self {
            memory: Memory::host(data.as_ptr(), bytes, Access::Exclusive),
            owner: Owner::small(buffer),
        })
    }

    /// Creates a storage of no bytes, at an address that every consumer finds aligned.
    pub(crate) fn empty(device: Device) -> Self {
        Self {
            memory: Memory {
                device,
                ..Memory::host(ptr::without_provenance_mut(256), 0, Access::Exclusive)
            },
            owner: Owner::none(),
        }
    }

    /// Creates storage from all its parts.
    ///
    /// # Safety
    ///
    /// The same as for [`from_raw`](Self::from_raw), until `owner` is dropped; and no other code
    /// uses memory whose access is exclusive.
    #[inline]
    pub(crate) unsafe fn from_parts(
        data: *mut u8,
        bytes: usize,
        device: Device,
        access: Access,
        owner: Owner,
    ) -> Self {
        Self {
            memory: Memory {
                data,
                bytes,
                device,
                access,
                has_gaps: false,
            },
            owner,
        }
    }

    /// Takes over memory that a device may be using, with an owner that can wait for that work.
    ///
    /// Views of memory that the CPU reaches too, such as managed memory, wait before they are
    /// created.
    ///
    /// # Safety
    ///
    /// Until `owner` is dropped, `data` leads to `nbytes` bytes on `device` (or is a handle to
    /// them), initialised where Rust code may read them once [`SyncOwner::settle`] has returned;
    /// the rest of what [`Managed::from_raw`](crate::dlpack::Managed::from_raw) requires of memory
    /// holds; and nothing else uses memory whose access is [`Access::Exclusive`].
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::storage::{Access, SyncOwner};
    /// use dlbridge::{Device, DeviceKind, Storage};
    ///
    /// struct Pages(Vec<u8>);
    ///
    /// impl SyncOwner for Pages {
    ///     fn settle(&self) -> Result<(), String> {
    ///         Ok(()) // wait for the device here
    ///     }
    /// }
    ///
    /// let mut bytes = vec![1_u8, 2, 3];
    /// let (data, nbytes) = (bytes.as_mut_ptr(), bytes.len());
    /// let device = Device::new(DeviceKind::CudaManaged, 0);
    /// let (access, owner) = (Access::Exclusive, Pages(bytes));
    /// // SAFETY: the vector has these bytes until it is dropped, and nothing else uses them.
    /// let storage =
    ///     unsafe { Storage::from_sync_owner(data, nbytes, device, access, owner) };
    /// assert_eq!(storage.sync_owner::<Pages>().unwrap().0.len(), 3);
    /// ```
    pub unsafe fn from_sync_owner<O: SyncOwner>(
        data: *mut u8,
        nbytes: usize,
        device: Device,
        access: Access,
        owner: O,
    ) -> Self {
        let owner = Owner::inspectable(owner);
        // SAFETY: the memory lives until the owner is dropped, and its access is what it is said to
        // be: both are preconditions of this function.
        unsafe { Self::from_parts(data, nbytes, device, access, owner) }
    }
}
