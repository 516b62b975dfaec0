//! Tensors in and out, through DLPack's managed tensors.
//!
//! An import checks everything that can be checked, and keeps the managed tensor as the owner of
//! the memory: its deleter is called when the last handle is gone. An export is one allocation,
//! which holds a handle to the memory: it outlives the tensor that it was made of.
//!
//! ```
//! use dlbridge::Tensor;
//! use dlbridge::dlpack::{Legacy, Versioned};
//!
//! let tensor = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//!
//! let managed = tensor.to_dlpack(); // another handle to the same memory
//! let back = Tensor::from_dlpack(managed)?;
//! assert_eq!(back.data_ptr(), tensor.data_ptr());
//!
//! let legacy = back.to_dlpack_as::<Legacy>()?; // for those who don't know the versioned one yet
//! drop((tensor, back));
//! assert_eq!(Tensor::from_dlpack(legacy)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), dlbridge::Error>(())
//! ```

mod export;
mod import;

#[cfg(feature = "python")]
pub(crate) use export::legacy_read_only;
#[cfg(feature = "python")]
pub(crate) use import::{Described, Usual};
