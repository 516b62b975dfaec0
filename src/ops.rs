//! The ops that come with the crate, each with its feature, and functions that call them.
//!
//! They are few and simple: there to be called, and to be read.
//!
//! ```
//! # #[cfg(all(feature = "op-add", feature = "op-matmul"))] {
//! use dlbridge::{Tensor, ops};
//!
//! let a = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//! let b = Tensor::from([10.0_f32, 20.0]);
//! assert_eq!(ops::add(&a, &b)?.to_string(), "[[11. 22.]\n [13. 24.]]");
//! assert_eq!(ops::matmul(&a, &a)?.to_string(), "[[ 7. 10.]\n [15. 22.]]");
//! # }
//! # Ok::<(), dlbridge::kernel::CallError>(())
//! ```

#[cfg(any(
    feature = "op-add",
    feature = "op-div",
    feature = "op-mul",
    feature = "op-sub"
))]
mod arithmetic;
#[cfg(any(
    feature = "op-max",
    feature = "op-mean",
    feature = "op-softmax",
    feature = "op-sum"
))]
pub(crate) mod axis;
#[cfg(feature = "op-axpy")]
mod axpy;
#[cfg(feature = "op-cast")]
mod cast;
#[cfg(feature = "op-copy")]
mod copy;
#[cfg(feature = "op-image")]
mod image;
#[cfg(feature = "op-matmul")]
mod matmul;
#[cfg(feature = "op-max")]
mod max;
#[cfg(feature = "op-mean")]
mod mean;
#[cfg(any(
    feature = "op-add",
    feature = "op-axpy",
    feature = "op-div",
    feature = "op-image",
    feature = "op-matmul",
    feature = "op-max",
    feature = "op-mean",
    feature = "op-mul",
    feature = "op-rms-norm",
    feature = "op-softmax",
    feature = "op-sub",
    feature = "op-sum"
))]
mod number;
#[cfg(any(feature = "op-max", feature = "op-mean", feature = "op-sum"))]
pub(crate) mod reduce;
#[cfg(feature = "op-rms-norm")]
mod rms_norm;
#[cfg(feature = "op-softmax")]
mod softmax;
#[cfg(feature = "op-sum")]
mod sum;

#[cfg(feature = "op-add")]
pub use arithmetic::add;
#[cfg(feature = "op-div")]
pub use arithmetic::div;
#[cfg(feature = "op-mul")]
pub use arithmetic::mul;
#[cfg(feature = "op-sub")]
pub use arithmetic::sub;
#[cfg(feature = "op-axpy")]
pub use axpy::axpy;
#[cfg(feature = "op-cast")]
pub use cast::cast;
#[cfg(feature = "op-copy")]
pub use copy::copy;
#[cfg(feature = "op-image")]
pub use image::{ImageOptions, image_to_tensor};
#[cfg(feature = "op-matmul")]
pub use matmul::matmul;
#[cfg(feature = "op-max")]
pub use max::max;
#[cfg(feature = "op-mean")]
pub use mean::mean;
#[cfg(feature = "op-rms-norm")]
pub use rms_norm::rms_norm;
#[cfg(feature = "op-softmax")]
pub use softmax::softmax;
#[cfg(feature = "op-sum")]
pub use sum::sum;
