//! Eager execution: contexts, tensors in them, and ops by name.

pub(super) mod attribute;
pub(super) mod context;
mod dlpack;
pub(super) mod handle;
pub(super) mod operation;
pub(super) mod tensor;
