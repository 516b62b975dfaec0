//! Ops as ops of frameworks' own compilers, without Python in their calls.
//!
//! A framework's C functions are looked up in the libraries that the process has loaded: nothing is
//! linked, and no library is loaded for it. An adapter has four duties: a framework's tensor
//! becomes an [`Operand`](crate::kernel::Operand), results are in the framework's memory, the call
//! frame runs, and failures become the framework's. Checks, dispatch and observers are those of all
//! calls.
//!
//! Adapters are called on any thread, several at once, and hold no lock. They catch panics.

mod allocated;
mod error;
mod lookup;
#[cfg(feature = "python")]
pub(crate) mod numpy;
mod operands;
mod problem;
mod repeats;
mod slot;
pub mod tensorflow;
pub mod torch;
pub mod tvm_ffi;
pub mod xla;

pub use error::{Host, HostError, HostReason};
