//! Calls of kernels: ordered with the work on GPUs, and of kernels that are Python objects.

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
