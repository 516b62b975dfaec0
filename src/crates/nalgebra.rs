//! The crate `nalgebra`: dynamic matrices and vectors share their vector with tensors, views their
//! elements.

mod owned;
mod view;
