//! TensorFlow without Python: its C library, its tensors' memory, its ops, graphs and SavedModels.
//!
//! Nothing is linked. The library of an installed Python package, or of an unpacked release for C,
//! is found and loaded at run time: see [`TensorFlow::load`]. A process has one TensorFlow at most:
//! where one is loaded already, as by `import tensorflow`, that one is used.
//!
//! ```
//! use dlbridge::Tensor;
//! use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow, TensorFlowError};
//!
//! fn add(tensorflow: TensorFlow) -> Result<(), TensorFlowError> {
//!     let context = Context::new(tensorflow)?;
//!     // Memory that is aligned to 64 bytes, as all that this crate allocates, is shared.
//!     let ours = Tensor::from_slice(&[1.0_f32, 2.0, 3.0], &[3])?;
//!     let x = EagerTensor::from_tensor(&context, &ours)?;
//!     let sum = Operation::new(&context, "AddV2")?.input(&x)?.input(&x)?.run_one()?;
//!     assert_eq!(sum.to_tensor()?.to_vec::<f32>()?, [2.0, 4.0, 6.0]);
//!     Ok(())
//! }
//!
//! match TensorFlow::load() {
//!     Ok(tensorflow) => add(tensorflow)?,
//!     Err(error) => eprintln!("{error}"),
//! }
//! # Ok::<(), TensorFlowError>(())
//! ```
//!
//! # Memory
//!
//! - A [`Tensor`](crate::Tensor) is shared with a [`TfTensor`] or an [`EagerTensor`]. Where
//!   TensorFlow would copy it, that is an error, or a copy on request.
//! - A [`TfTensor`], or an [`EagerTensor`] on the CPU, is shared with a tensor that is read-only.
//! - A [`Session`] shares the tensors that are fed, and those that are fetched: the latter are
//!   read-only, in TensorFlow's memory or in that of a fed tensor.
//!
//! TensorFlow frees our memory by a deallocator, which drops a handle to the tensor, exactly once
//! and on any thread. Of the memory that it doesn't own TensorFlow writes nothing: it reuses a
//! buffer for a result only if it allocated it. The few ops that write their inputs are refused,
//! and so are ops that are internal to TensorFlow, in graphs and their functions, too. One case
//! isn't prevented: a part of a shared tensor (`Split`, `Slice`) that a variable keeps longer than
//! all handles to the whole is written to as the variable is updated.

mod buffer;
mod dtype;
mod eager;
mod error;
mod find;
mod functions;
mod graph;
mod inspect;
mod library;
mod refused_ops;
mod saved_model;
mod session;
mod status;
mod tensor;
mod wire;

pub use dtype::DataType;
pub use eager::attribute::OpAttribute;
pub use eager::context::Context;
#[cfg(feature = "python")]
pub(crate) use eager::handle::Handle;
pub use eager::operation::Operation;
pub use eager::tensor::EagerTensor;
pub use error::TensorFlowError;
#[cfg(feature = "python")]
pub(crate) use find::library_of;
pub use graph::Graph;
#[cfg(feature = "python")]
pub(crate) use inspect::is_known;
pub use inspect::{Inspection, ShapeRepresentation, inspect};
pub use library::{TensorFlow, Version};
pub use saved_model::SavedModel;
pub use saved_model::signature::{Signature, SignatureTensor};
pub use session::Session;
#[cfg(feature = "python")]
pub(crate) use tensor::check::check;
pub use tensor::{ALIGNMENT, TfTensor};
