//! The DLPack protocol: its structs, owners for what crosses, and with the feature `python` its
//! Python half.
//!
//! DLPack hands a tensor from one library to another as a C struct with a deleter. This crate
//! makes the two rules of that hand-over hold by construction:
//!
//! * **the owner of the struct calls its deleter, exactly once** ([`Managed`]);
//! * **what is exported lives until its deleter is called, in one allocation** ([`export`]).
//!
//! Both ABIs, the versioned one and the legacy one, go through the same code: everything is
//! generic over the sealed trait [`Abi`].
//!
//! The crate knows nothing of tensors, element types or frameworks: whether a descriptor makes
//! sense is for its user to judge. `dlbridge` does that, and is what most programs want.
//!
//! ```
//! use dlbridge_dlpack::{DLDataType, DLDevice, Description, Flags, Versioned, export};
//!
//! let numbers = vec![1.0_f32, 2.0, 3.0];
//! let description = Description {
//!     data: numbers.as_ptr().cast_mut().cast(),
//!     device: DLDevice::CPU,
//!     dtype: DLDataType::F32,
//!     shape: &[3],
//!     strides: &[1],
//!     byte_offset: 0,
//!     flags: Flags::READ_ONLY,
//! };
//! // SAFETY: the vector is moved into the export, its elements stay where they are, and the
//! // description speaks the truth about them.
//! let managed = unsafe { export::<Versioned, _>(&description, numbers) };
//! assert_eq!(managed.descriptor().ndim, 1);
//! drop(managed); // calls the deleter, which drops the vector
//! ```

#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod abi;
mod export;
mod managed;
#[cfg(feature = "python")]
pub mod python;

pub use abi::{
    Abi, DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLManagedTensor,
    DLManagedTensorVersioned, DLPackCurrentWorkStream, DLPackDLTensorFromPyObjectNoSync,
    DLPackExchangeAPI, DLPackExchangeAPIHeader, DLPackManagedTensorAllocator,
    DLPackManagedTensorFromPyObjectNoSync, DLPackManagedTensorToPyObjectNoSync, DLPackVersion,
    DLTensor, Deleter, Flags, Legacy, VERSION, Versioned,
};
#[cfg(feature = "python")]
#[doc(hidden)]
pub use export::is_in_deleter;
pub use export::{Description, contain_panics, export, run_deleter};
pub use managed::{FromRawError, Managed};

/// The README's code runs too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
