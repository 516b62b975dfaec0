//! XLA: handlers of its FFI, for JAX and other programs that compile with XLA.
//!
//! A custom call has the op's inputs as arguments, without those that are left out, and its
//! attributes by their names. Its results are the new values of the inputs that the op writes, then
//! the op's outputs.
//!
//! | argument | XLA's attribute |
//! |---|---|
//! | `bool`, `int`, `float` | a scalar |
//! | `str`; a dtype, by its name | a string |
//! | `ints` | an array |
//! | none, of an attribute that may be `None` | the string `None` |
//! | which inputs are given, if optional ones before others are left out | `_given`: bits |
//!
//! An attribute with a default may be left out. What a kernel's factory makes of attributes is
//! cached with the op, for all hosts.
//!
//! ```
//! use dlbridge::hosts::xla;
//! use dlbridge::kernel::Registry;
//! # #[cfg(feature = "ops")] {
//! let op = Registry::global().op("add")?;
//! // To be registered as a target of this name, for the platform "Host" or, in JAX, "cpu".
//! let (name, handler) = (xla::target(&op), xla::handler(&op)?);
//! assert_eq!(name, "dlbridge.add");
//! # let _ = handler;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod abi;
mod arguments;
mod attributes;
mod handler;
mod results;
#[cfg(test)]
mod tests;

use super::{Host, HostError};
use crate::kernel::OpHandle;
pub use handler::Handler;

/// Returns the name under which an op's handler is registered.
pub fn target(op: &OpHandle) -> String {
    format!("dlbridge.{}", op.name())
}

/// Returns a handler of an op, for the CPU. It has a place of its own, of which there are 512 in a
/// process, and stays for ever.
///
/// # Errors
///
/// When all places are taken, or the op has more inputs than XLA's attribute has bits.
pub fn handler(op: &OpHandle) -> Result<Handler, HostError> {
    if op.definition().given() > 63 {
        return Err(Host::Xla.no_equivalent(op.name(), "more than 63 inputs"));
    }
    let handler = handler::handler_of(op.clone());
    handler.ok_or_else(|| Host::Xla.too_many_ops())
}
