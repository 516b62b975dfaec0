//! dlbridge moves tensors between libraries, languages and devices through
//! [DLPack](https://dmlc.github.io/dlpack/latest/), without copies.
//!
//! A [`Tensor`] is memory with an owner, a layout and an element type. What comes from another
//! library keeps that library's buffer, and gives it back when the last handle is gone; what goes
//! out keeps ours.
//!
//! ```
//! use dlbridge::{DType, Tensor};
//!
//! // Create a tensor from a Vec, without copying it.
//! let tensor = Tensor::from_vec((0..6).map(|i| i as f32).collect(), &[2, 3])?;
//! assert_eq!(tensor.dtype(), DType::F32);
//! assert_eq!(tensor.to_string(), "[[0. 1. 2.]\n [3. 4. 5.]]");
//!
//! // Another view of the same memory.
//! let transposed = tensor.transpose();
//! assert_eq!(transposed.view::<f32>()?[[2, 1]], 5.0);
//!
//! // Hand it to another library: `managed.into_raw()` is what its C side takes.
//! let managed = transposed.to_dlpack();
//! // ... and take over what another library handed out.
//! let back = Tensor::from_dlpack(managed)?;
//! assert_eq!(back.data_ptr(), tensor.data_ptr());
//! # Ok::<(), dlbridge::Error>(())
//! ```
//!
//! # Where to look
//!
//! * [`Tensor`]: making, viewing, exporting, importing.
//! * [`View`], [`ViewMut`]: its elements, typed and borrowed.
//! * [`DType`], [`Device`], [`layout`]: what there is, and which numbers make sense.
//! * [`Storage`]: memory of any kind and its owner.
//! * `python`, a module of the feature: tensors as arguments of Python functions.
//! * [`dlpack`]: the protocol itself, for those who speak it.
//!
//! # What is promised
//!
//! Memory is released exactly once, by its producer's deleter, after its last user is gone. Nothing
//! is copied without a request. Read-only stays read-only. Safe code can't alias, overrun, or
//! write what isn't its own: what Rust can't check is behind `unsafe`, and written down in
//! `docs/soundness.md`.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | adds |
//! |---|---|
//! | `kernels` | ops and kernels: the registry, dispatch and the call frame (`kernel`) |
//! | `ops` | the ops that come with the crate (`ops`); turns on `kernels` |
//! | `cuda` | memory, streams and kernels on NVIDIA GPUs (`cuda`), whose driver is loaded on first use; turns on `ops` |
//! | `files` | tensors in safetensors, `.npy` and `.npz` files (`files`) |
//! | `proto` | TensorFlow's and ONNX's messages of tensors (`files`); turns on `files` |
//! | `ndarray`, `image`, `safetensors`, `arrow`, `nalgebra`, `faer`, `candle`, `ort`, `burn`, `cudarc` | conversions from and to the types of that crate (`crates`, `cuda`) |
//! | `rayon` | lines and chunks of views in parallel, by the threads of `rayon` (`view`) |
//! | `hosts` | ops as ops of frameworks' compilers (`hosts`), on Unix; turns on `kernels` |
//! | `python` | arguments, results and a class for extensions of Python that are written with PyO3 (`python`) |
//! | `experimental-inspect` | their type hints, for stubs that maturin generates: PyO3's feature of this name; turns on `python` |
//! | `tensorflow` | TensorFlow's C library, loaded at run time (`tensorflow`): tensors, ops, graphs, SavedModels |

#![warn(missing_debug_implementations)]
#![cfg_attr(docsrs, feature(doc_cfg))]

// First, as its macros are used in those that come below.
#[cfg(feature = "kernels")]
#[macro_use]
pub mod kernel;

pub mod compute;
#[cfg(feature = "crates")]
pub mod crates;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod device;
pub mod dtype;
pub mod error;
#[cfg(feature = "files")]
pub mod files;
#[cfg(all(feature = "hosts", unix))]
pub mod hosts;
mod interchange;
pub mod layout;
pub mod number;
#[cfg(feature = "ops")]
pub mod ops;
#[cfg(feature = "python")]
pub mod python;
pub mod storage;
pub mod tensor;
#[cfg(all(feature = "tensorflow", unix))]
pub mod tensorflow;
#[cfg(any(
    feature = "proto",
    all(any(feature = "hosts", feature = "tensorflow"), unix)
))]
mod tensorflow_types;
#[cfg(feature = "kernels")]
pub mod testing;
pub mod view;

pub use device::{Device, DeviceKind};
pub use dlbridge_dlpack as dlpack;
pub use dtype::{DType, Element};
pub use error::Error;
pub use half;
pub use number::{Float, Number};
pub use storage::{Storage, WeakStorage};
pub use tensor::Tensor;
pub use view::{View, ViewMut};

/// The README's code runs too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// And so does that of pages that show features.
#[cfg(all(doctest, feature = "kernels"))]
#[doc = include_str!("../docs/graphs.md")]
struct GraphsPage;

#[cfg(all(doctest, feature = "ndarray"))]
#[doc = include_str!("../docs/crates.md")]
struct CratesPage;

#[cfg(all(doctest, feature = "python", feature = "rayon"))]
#[doc = include_str!("../docs/cookbook/parallel.md")]
struct ParallelPage;

#[cfg(all(doctest, feature = "tensorflow", unix))]
#[doc = include_str!("../docs/tensorflow.md")]
struct TensorFlowPage;

#[cfg(all(doctest, feature = "cuda"))]
#[doc = include_str!("../src/cuda/kernels/README.md")]
struct CudaKernelsPage;
