//! CUDA: memory, streams and kernels on NVIDIA GPUs.
//!
//! Nothing here is linked to CUDA: the driver is looked up on first use, and where
//! there is none, that is an error like any other.
//!
//! ```
//! use dlbridge::cuda::{self, CudaError, Gpu, Stream};
//! use dlbridge::Tensor;
//!
//! fn there_and_back() -> Result<(), Box<dyn std::error::Error>> {
//!     let stream = Stream::new(Gpu::new(0)?)?;
//!     let sent = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream)?;
//!     assert_eq!(sent.device().to_string(), "cuda:0");
//!     assert_eq!(cuda::to_host(&sent)?.to_string(), "[1. 2.]");
//!     Ok(())
//! }
//!
//! match cuda::count() {
//!     Ok(_) => there_and_back()?,
//!     Err(error) => assert!(matches!(error, CudaError::NoDriver | CudaError::NoGpu)),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Order
//!
//! Work on a GPU is enqueued on a [`Stream`], and done later, in the order of that stream. Each
//! thread has a current stream for each GPU ([`Stream::current`]); what is called without one uses
//! that.
//!
//! Memory that this module allocated, or that was [imported](import), knows on which stream it was
//! last written, and on which ones it has been read since. A use on another stream has that one
//! wait, by an event, and not the CPU. It is released when its last handle goes, after all that
//! work; so a handle can be dropped while kernels that use it are still to run. [Pinned](pinned)
//! and [managed] memory know it, too: what looks at it, such as
//! [`Tensor::view`](crate::Tensor::view), waits for what is under way, as [`settle`] does for those
//! that have only the address.
//!
//! While a graph is captured, only work on the capturing stream becomes part of it: memory must
//! have been made before, and be used on no other stream meanwhile.
//!
//! # Kernels
//!
//! A [`Source`] in CUDA C++ is compiled while the program runs, by NVRTC, and what comes of it is
//! kept on disk. A [`Module`] is loaded from that, or from a cubin, a fat binary or PTX. Its
//! [`Function`]s are launched with tensors, in the order of work: [`Function::call`].
//!
//! NVRTC is found where frameworks have it, and where CUDA is installed; the environment variable
//! `DLBRIDGE_NVRTC` can name its file or folder. `DLBRIDGE_CACHE` names the folder for what was
//! compiled, which otherwise is `~/.cache/dlbridge`; if it is empty, nothing is kept.
//!
//! Matrices of floats are multiplied by cuBLASLt, which is found in the same way:
//! `DLBRIDGE_CUBLASLT` can name its file or folder, or be `none`. Without it, and for integers,
//! there is a kernel of ours. That is used as well where the library was found and doesn't start:
//! [`cublaslt_failure`] says why.
//!
//! A library of a newer CUDA than the driver's is only taken where there is no other, or where it
//! is named.

mod blas;
mod compile;
mod driver;
mod memory;
mod module;
mod ops;
mod stream;

pub use blas::{cublaslt_failure, set_cublaslt_path};
pub use compile::{Image, ImageKind, Source, set_nvrtc_path};
pub use driver::error::CudaError;
#[cfg(feature = "python")]
pub(crate) use driver::foreign_drops::HeldDrops;
pub use driver::gpu::{ContextGuard, Gpu};
pub use driver::is_present;
pub use driver::library::find::add_search_path;
pub use driver::start::count;
pub use memory::array::{empty, zeros};
pub use memory::copy::{copy_into, copy_on_host, to_device, to_host};
pub use memory::foreign::{import, import_unordered};
pub use memory::pinned::{managed, pinned, settle};
pub use memory::pointer::{PointerKind, device_of, device_of_range};
#[cfg(feature = "cudarc")]
pub use memory::slices::Slice;
#[cfg(feature = "python")]
pub(crate) use memory::tensor_uses::{is_ordered, use_on, writer_of};
pub use module::Module;
pub use module::argument::Argument;
pub use module::call::Call;
pub use module::function::Function;
pub use module::launch::Launch;
pub use module::signature::{ParameterKind, Signature};
pub use stream::Stream;
pub use stream::current_stack::Current;
pub use stream::deferred::release_after;
#[cfg(feature = "python")]
pub(crate) use stream::last_writer::Use;
#[cfg(feature = "python")]
pub(crate) use stream::peer_streams;
