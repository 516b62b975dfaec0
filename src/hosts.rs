//! Ops as ops of frameworks' own compilers, without Python in their calls.
//!
//! A framework's C functions are looked up in the libraries that the process has loaded: nothing is
//! linked, and no library is loaded for it. An adapter has four duties: a framework's tensor
//! becomes an [`Operand`](crate::kernel::Operand), results are in the framework's memory, the call
//! frame runs, and failures become the framework's. Checks, dispatch and observers are those of all
//! calls.
//!
//! Adapters are called on any thread, several at once, and hold no lock. They catch panics.

mod lookup;
#[cfg(feature = "python")]
pub(crate) mod numpy;
mod operands;
mod problem;
mod slot;
pub mod tensorflow;
pub mod torch;
pub mod tvm_ffi;
pub mod xla;

use std::fmt;

/// Why an op can't be one of a framework.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError(String);

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HostError {}

impl From<String> for HostError {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}
