//! Eager execution: contexts, tensors in them, and ops by name.

pub(super) mod attribute;
pub(super) mod context;
mod definition;
mod dlpack;
pub(super) mod handle;
mod inputs;
pub(super) mod operation;
pub(super) mod tensor;
