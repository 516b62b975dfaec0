//! Tensors, element by element, against a naive model that has no strides.
//!
//! Everything here also runs under Miri, with fewer cases.

#[path = "tensor/any_type.rs"]
mod any_type;
#[path = "tensor/arange.rs"]
mod arange;
#[path = "tensor/compare.rs"]
mod compare;
#[path = "tensor/copy.rs"]
mod copy;
#[path = "tensor/cut.rs"]
mod cut;
#[path = "tensor/from_rust.rs"]
mod from_rust;
#[path = "tensor/iteration.rs"]
mod iteration;
#[path = "tensor/lines.rs"]
mod lines;
#[path = "tensor/memory.rs"]
mod memory;
#[path = "tensor/model.rs"]
mod model;
#[cfg(feature = "ndarray")]
#[path = "tensor/ndarray.rs"]
mod ndarray;
#[path = "tensor/packed.rs"]
mod packed;
#[path = "tensor/padded.rs"]
mod padded;
#[cfg(feature = "rayon")]
#[path = "tensor/parallel.rs"]
mod parallel;
#[path = "tensor/typed_views.rs"]
mod typed_views;
#[path = "tensor/vectors.rs"]
mod vectors;
#[path = "tensor/views.rs"]
mod views;
#[path = "tensor/writing.rs"]
mod writing;
