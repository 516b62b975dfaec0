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

#[cfg(feature = "op-add")]
mod add;
#[cfg(feature = "op-axpy")]
mod axpy;
#[cfg(feature = "op-matmul")]
mod matmul;
#[cfg(any(
    feature = "op-add",
    feature = "op-axpy",
    feature = "op-matmul",
    feature = "op-sum"
))]
mod number;
#[cfg(feature = "op-sum")]
mod sum;

#[cfg(feature = "op-add")]
pub use add::add;
#[cfg(feature = "op-axpy")]
pub use axpy::axpy;
#[cfg(feature = "op-matmul")]
pub use matmul::matmul;
#[cfg(feature = "op-sum")]
pub use sum::sum;
