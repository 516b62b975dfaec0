//! Kernel calls: their order with work on GPUs, and calls of kernels that are Python objects.

#[cfg(feature = "cuda")]
mod calls;
#[cfg(all(feature = "kernels", not(feature = "cuda")))]
#[path = "launch/no_calls.rs"]
mod calls;
#[cfg(feature = "cuda")]
mod kernel;

#[cfg(feature = "kernels")]
pub(super) use calls::run;
#[cfg(feature = "cuda")]
pub use kernel::{PyKernel, PyKernels};
