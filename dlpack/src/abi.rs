//! The C structs, and the one trait through which both managed ABIs are handled.
//!
//! The structs, their constants and the flags are those of the `dlpark` crate, generated from
//! DLPack's header; `tests/header.rs` compares each with a real `dlpack.h`. No other file of this
//! project names that crate, but for the conversions in `managed.rs`.

use std::ffi::c_void;

pub use dlpark::DlpackFlags as Flags;
pub use dlpark::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
    DLPackCurrentWorkStream, DLPackDLTensorFromPyObjectNoSync, DLPackExchangeAPI,
    DLPackExchangeAPIHeader, DLPackManagedTensorAllocator, DLPackManagedTensorFromPyObjectNoSync,
    DLPackManagedTensorToPyObjectNoSync, DLPackVersion, DLTensor,
};

/// The DLPack version that this crate speaks, and stamps on what it exports.
pub const VERSION: DLPackVersion = DLPackVersion::CURRENT;

/// The ABI before DLPack 1.0: no version, no flags. Still what many libraries hand out.
pub type Legacy = DLManagedTensor;

/// The ABI since DLPack 1.0.
pub type Versioned = DLManagedTensorVersioned;

/// The function that releases a managed tensor, the struct itself included.
pub type Deleter<A> = unsafe extern "C" fn(*mut A);

/// A managed tensor's ABI: [`Versioned`] or [`Legacy`]. Sealed.
///
/// The functions take raw pointers, because a reference would claim that the whole struct is
/// there, which is only known once its version is.
///
/// # Safety
///
/// Implementations read and write the fields that they say, of the type's C layout.
pub unsafe trait Abi: sealed::Sealed + Sized + 'static {
    /// The struct's name in C.
    const NAME: &'static str;

    /// Whether read-only memory, copies and padding can be marked.
    const HAS_FLAGS: bool;

    /// Reads the version, and nothing else; `None` for the ABI that has none.
    ///
    /// # Safety
    ///
    /// `this` points to a managed tensor of this ABI, of any version.
    unsafe fn version(this: *const Self) -> Option<DLPackVersion>;

    /// Reads the deleter; sound for every version.
    ///
    /// # Safety
    ///
    /// `this` points to a managed tensor of this ABI, of any version.
    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>>;

    /// Returns the flags; none are set where the ABI has no place for them.
    fn flags(&self) -> Flags;

    /// Returns the tensor that is described.
    fn descriptor(&self) -> &DLTensor;

    /// Makes a managed tensor of [`VERSION`] from its parts. `flags` are dropped where the ABI
    /// has no place for them; see [`HAS_FLAGS`](Abi::HAS_FLAGS).
    fn assemble(
        descriptor: DLTensor,
        flags: Flags,
        manager_ctx: *mut c_void,
        deleter: Deleter<Self>,
    ) -> Self;
}

// SAFETY: each function reads the field it is named after.
unsafe impl Abi for Versioned {
    const NAME: &'static str = "DLManagedTensorVersioned";
    const HAS_FLAGS: bool = true;

    unsafe fn version(this: *const Self) -> Option<DLPackVersion> {
        // SAFETY: the version is the first field of every version of the struct.
        Some(unsafe { (*this).version })
    }

    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: DLPack keeps everything up to the flags, so also the deleter, where it is.
        unsafe { (*this).deleter }
    }

    fn flags(&self) -> Flags {
        self.flags
    }

    fn descriptor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn assemble(
        descriptor: DLTensor,
        flags: Flags,
        manager_ctx: *mut c_void,
        deleter: Deleter<Self>,
    ) -> Self {
        Self {
            version: VERSION,
            manager_ctx,
            deleter: Some(deleter),
            flags,
            dl_tensor: descriptor,
        }
    }
}

// SAFETY: each function reads the field it is named after.
unsafe impl Abi for Legacy {
    const NAME: &'static str = "DLManagedTensor";
    const HAS_FLAGS: bool = false;

    unsafe fn version(_this: *const Self) -> Option<DLPackVersion> {
        None
    }

    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: `this` is valid by this function's contract, and this struct has one version
        // only.
        unsafe { (*this).deleter }
    }

    fn flags(&self) -> Flags {
        Flags::empty()
    }

    fn descriptor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn assemble(
        descriptor: DLTensor,
        _flags: Flags,
        manager_ctx: *mut c_void,
        deleter: Deleter<Self>,
    ) -> Self {
        Self {
            dl_tensor: descriptor,
            manager_ctx,
            deleter: Some(deleter),
        }
    }
}

mod sealed {
    /// Keeps [`Abi`](super::Abi) to the two structs there are.
    pub trait Sealed {}
    impl Sealed for super::Legacy {}
    impl Sealed for super::Versioned {}
}
