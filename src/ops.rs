//! The ops that come with the crate, and functions that call them.
//!
//! They take tensors of any strides, are vectorised, and run on several threads where the tensors
//! are large; `docs/ops.md` has their rules and accuracy. Some have kernels for GPUs, too.
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
//!
//! Those in [`out`] write to a tensor that is there already. Options that the functions don't have
//! are attributes of a [call](crate::kernel::OpHandle::call).
//!
//! # No operators
//!
//! `a + b` on tensors would hide what these functions say: that memory is allocated for the result,
//! that it takes a pass over all elements, and that it can fail, which an operator can only do by a
//! panic. `a * b + c` would do all of it twice, where [`fma`] does it once. Elements have
//! operators: [`map`](crate::Tensor::map) and views take functions of them.

mod argmax;
mod arithmetic;
pub(crate) mod axis;
mod axpy;
mod cast;
mod comparison;
mod concat;
mod copy;
mod extremes;
mod image;
mod index_add;
mod lanes;
mod layer_norm;
mod like;
mod lines;
mod matmul;
mod mean;
mod number;
mod order;
pub mod out;
mod quantize;
mod rearrange;
pub(crate) mod reduce;
mod rms_norm;
mod rms_norm_backward;
mod rms_norm_factor;
mod softmax;
mod sum;
mod take;
mod three;
mod topk;
mod unary;
mod var;

pub use argmax::{argmax, argmin};
pub use arithmetic::{add, divide, maximum, minimum, multiply, subtract};
pub use arithmetic::{divide as div, multiply as mul, subtract as sub};
pub use axpy::axpy;
pub use cast::cast;
pub use comparison::{equal, greater, greater_equal, less, less_equal, not_equal};
pub use concat::concat;
pub use copy::copy;
pub use extremes::{max, min};
pub use image::nv12::nv12_to_rgb;
pub use image::{ImageOptions, Resize, YuvStandard, image_to_tensor};
pub use index_add::index_add;
pub use layer_norm::layer_norm;
pub use like::{broadcast_like, mean_backward, sum_backward, sum_to_like};
pub use matmul::matmul;
pub use mean::mean;
pub use quantize::{ScaleAxis, dequantize, quantize};
pub use rearrange::{expand_dims, matrix_transpose};
pub use rms_norm::rms_norm;
pub use rms_norm_backward::rms_norm_backward;
pub use rms_norm_factor::rms_norm_factor;
pub use softmax::{log_softmax, softmax};
pub use sum::{sum, sum_to};
pub use take::take;
pub use three::{fma, where_};
pub use topk::topk;
pub use unary::{abs, exp, gelu, log, negative, relu, rsqrt, sigmoid, silu, sqrt, tanh};
pub use var::{std, var};
