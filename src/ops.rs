//! The ops that come with the crate, and functions that call them.
//!
//! They are few and simple: there to be called, and to be read.
//!
//! ```
//! use dlbridge::{Tensor, ops};
//!
//! let a = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//! let b = Tensor::from([10.0_f32, 20.0]);
//! assert_eq!(ops::add(&a, &b)?.to_string(), "[[11. 22.]\n [13. 24.]]");
//! assert_eq!(ops::matmul(&a, &a)?.to_string(), "[[ 7. 10.]\n [15. 22.]]");
//! # Ok::<(), dlbridge::kernel::CallError>(())
//! ```

mod arithmetic;
pub(crate) mod axis;
mod axpy;
mod cast;
mod copy;
mod image;
mod matmul;
mod max;
mod mean;
mod number;
pub(crate) mod reduce;
mod rms_norm;
mod softmax;
mod sum;

pub use arithmetic::{add, div, mul, sub};
pub use axpy::axpy;
pub use cast::cast;
pub use copy::copy;
pub use image::{ImageOptions, image_to_tensor};
pub use matmul::matmul;
pub use max::max;
pub use mean::mean;
pub use rms_norm::rms_norm;
pub use softmax::softmax;
pub use sum::sum;
