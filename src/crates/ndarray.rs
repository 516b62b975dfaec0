//! The crate `ndarray`: owned arrays share their vector with tensors, views their elements.

mod owned;
mod view;
