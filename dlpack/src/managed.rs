//! [`Managed`]: the one owner of a managed tensor.

use crate::abi::{Abi, DLPackVersion, DLTensor, Flags, VERSION};
use std::fmt;
use std::ptr::NonNull;

/// An owned managed tensor of either ABI.
///
/// ```text
///   Managed<A>            what the producer allocated
///  ┌──────────┐          ┌──────────────────────────────┐
///  │ pointer ─┼─────────▶│ A { version, flags, deleter, │
///  └──────────┘  owns    │     manager_ctx, DLTensor } ─┼──▶ shape, strides, data
///                        └──────────────────────────────┘
/// ```
///
/// Dropping it calls the deleter, once. A NULL deleter is allowed: then nothing is to be
/// released, and the producer keeps the memory alive by other means.
///
/// A `Managed` carries the promise of its creator (see [`from_raw`](Self::from_raw)
/// and [`export`](crate::export)): its pointers mean what the descriptor says. Whether the
/// descriptor makes sense at all (ranks, sizes, element types) is for the importer to check.
pub struct Managed<A: Abi>(NonNull<A>);

// SAFETY: DLPack's deleters may be called from any thread, which `from_raw` demands of foreign
// ones and `export` of our own; everything else is read-only data.
unsafe impl<A: Abi> Send for Managed<A> {}
// SAFETY: a shared reference only gives reads of fields that no code writes while they are owned.
unsafe impl<A: Abi> Sync for Managed<A> {}

/// Why a pointer is not a managed tensor that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FromRawError {
    /// There is no managed tensor.
    #[error("the pointer to the managed tensor is NULL")]
    Null,
    /// The struct is of a major version whose layout this crate doesn't know. It was released.
    #[error(
        "the tensor speaks DLPack {}.{}, and this library {}.{}: the major versions must match",
        .found.major, .found.minor, VERSION.major, VERSION.minor
    )]
    Version {
        /// The tensor's version.
        found: DLPackVersion,
    },
}

impl<A: Abi> Managed<A> {
    /// Takes ownership of a managed tensor.
    ///
    /// # Errors
    ///
    /// When the pointer is NULL, or the struct's major version isn't ours: then its deleter is
    /// called, and nothing but the version and the deleter is read.
    ///
    /// # Safety
    ///
    /// `ptr` is NULL, or points to a managed tensor that the caller owns and gives away. Its
    /// deleter is NULL or may be called once, from any thread, and doesn't unwind. Until then
    ///
    /// * shape and strides, where they are not NULL, point to as many readable numbers as the
    ///   rank says, and no code changes them;
    /// * the data pointer (with its byte offset) leads to all the memory that sizes, strides and
    ///   element type describe, on the device named;
    /// * no code writes that memory while Rust code reads it, nor reads it while Rust code writes
    ///   it; flags are honest: memory that says `IS_COPIED` belongs to its consumer alone.
    pub unsafe fn from_raw(ptr: *mut A) -> Result<Self, FromRawError> {
        let managed = Self(NonNull::new(ptr).ok_or(FromRawError::Null)?);
        // SAFETY: `ptr` is valid by this function's contract; only the version is read.
        match unsafe { A::version(ptr) } {
            Some(found) if found.major != VERSION.major => Err(FromRawError::Version { found }),
            _ => Ok(managed),
        }
    }

    /// Takes ownership of what [`into_raw`](Self::into_raw) gave away.
    ///
    /// # Safety
    ///
    /// `ptr` came from [`into_raw`](Self::into_raw), and no other code owns it.
    pub unsafe fn from_raw_unchecked(ptr: NonNull<A>) -> Self {
        Self(ptr)
    }

    /// Gives the managed tensor away: the deleter is now the caller's to call.
    pub fn into_raw(self) -> NonNull<A> {
        std::mem::ManuallyDrop::new(self).0
    }

    /// Returns the managed tensor, which stays owned by `self`.
    pub fn as_ptr(&self) -> *mut A {
        self.0.as_ptr()
    }

    /// Returns the tensor's descriptor, as the producer wrote it: unvalidated.
    pub fn descriptor(&self) -> &DLTensor {
        self.header().descriptor()
    }

    /// Returns the flags; none for the legacy ABI, which has no place for them. Flags that this
    /// version of DLPack doesn't know are kept.
    pub fn flags(&self) -> Flags {
        self.header().flags()
    }

    /// Returns the producer's DLPack version; `None` for the legacy ABI.
    pub fn version(&self) -> Option<DLPackVersion> {
        // SAFETY: `self` owns the struct.
        unsafe { A::version(self.as_ptr()) }
    }

    fn header(&self) -> &A {
        // SAFETY: `self` owns the struct, and its version is one whose layout `A` is.
        unsafe { self.0.as_ref() }
    }
}

impl<A: Abi> Drop for Managed<A> {
    fn drop(&mut self) {
        // SAFETY: `self` owns the struct, of whatever version.
        if let Some(deleter) = unsafe { A::deleter(self.as_ptr()) } {
            // SAFETY: `self` is the only owner and is going away, so this is the one call.
            unsafe { deleter(self.as_ptr()) }
        }
    }
}

impl<A: Abi> fmt::Debug for Managed<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(A::NAME)
            .field("version", &self.version())
            .field("flags", &self.flags())
            .field("dl_tensor", self.descriptor())
            .finish_non_exhaustive()
    }
}

/// Gives a managed tensor to a user of the `dlpark` crate, without a copy.
impl<A: Abi + dlpark::ManagedTensorBase> From<Managed<A>> for dlpark::Managed<A> {
    fn from(managed: Managed<A>) -> Self {
        let ptr = managed.into_raw().as_ptr();
        // SAFETY: ownership moves from one owner to the other, and our promise about the struct
        // includes the one that dlpark asks for.
        match unsafe { dlpark::Managed::from_raw(ptr) } {
            Ok(managed) => managed,
            Err(error) => unreachable!("a struct whose version was checked: {error}"),
        }
    }
}

impl<A: Abi + dlpark::ManagedTensorBase> Managed<A> {
    /// Takes a managed tensor over from a user of the `dlpark` crate, without a copy.
    ///
    /// # Errors
    ///
    /// When the struct's major version isn't ours, as of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    ///
    /// The struct keeps the promise of [`from_raw`](Self::from_raw): `dlpark`'s own type says
    /// nothing about the memory behind its data pointer.
    pub unsafe fn from_dlpark(managed: dlpark::Managed<A>) -> Result<Self, FromRawError> {
        // SAFETY: `into_raw` gives ownership away, and the struct keeps `from_raw`'s promise by
        // this function's contract.
        unsafe { Self::from_raw(managed.into_raw()) }
    }
}
