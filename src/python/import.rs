//! Tensors that come from Python objects: borrowed for a call, or owned.

pub(super) mod borrow;
#[cfg(any(not(Py_LIMITED_API), Py_3_11))]
pub(super) mod buffer;
#[cfg(not(any(not(Py_LIMITED_API), Py_3_11)))]
#[path = "import/no_buffer.rs"]
pub(super) mod buffer;
mod capsule;
mod guard;
pub(super) mod own;
pub(super) mod passed;
mod recheck;
pub(super) mod type_cache;

pub(super) use recheck::check_borrowed;
