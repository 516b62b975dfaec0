//! Tensors as arguments and results of Python functions that are written in Rust with PyO3.
//!
//! ```no_run
//! use dlbridge::python::{In, Like, Out};
//! use pyo3::prelude::*;
//!
//! /// Writes the sum of two tensors of any framework into a third.
//! #[pyfunction]
//! fn add(a: In<'_, f32>, b: In<'_, f32>, mut out: Out<'_, f32>) -> PyResult<()> {
//!     a.check_shape(out.shape())?;
//!     b.check_shape(out.shape())?;
//!     let (a, b) = (a.view(), b.view());
//!     for ((out, a), b) in out.view_mut().iter_mut().zip(&a).zip(&b) {
//!         *out = a + b;
//!     }
//!     Ok(())
//! }
//!
//! /// A new tensor, of the framework that the argument is of.
//! #[pyfunction]
//! fn doubled<'py>(x: In<'py, f32>) -> PyResult<Like<'py>> {
//!     let mut out = x.zeros_like::<f32>(x.shape())?;
//!     for (out, x) in out.view_mut()?.iter_mut().zip(x.view()) {
//!         *out = 2.0 * x;
//!     }
//!     Ok(x.like(out))
//! }
//! ```
//!
//! | an argument that is | has the type |
//! |---|---|
//! | read during the call | [`In`] |
//! | written during the call | [`Out`] |
//! | kept | [`Tensor`](crate::Tensor), or [`Owned`], which is checked like [`In`] |
//! | a tensor or a Python number | [`OrNumber`] |
//! | passed on, and not read | [`Passed`] |
//!
//! Each of them may be in an `Option`, a `Vec`, a `HashMap` or a tuple. What [`In`], [`Out`] and
//! [`Owned`] ask of the tensor is in their parameters: element type, rank, [layout](Arrangement)
//! and [device](Place). An error says what was asked for and what came, and Python adds the
//! argument's name to it.
//!
//! | a result that is | has the type |
//! |---|---|
//! | an object of our own class | [`Tensor`](crate::Tensor) |
//! | an object of an argument's framework | [`Like`], from [`In::like`] |
//! | an object of a framework by name | [`to_framework`], or [`convert`], which may copy |
//!
//! Two arguments of which one is written must not share memory: see [`Out`]. What is kept isn't written by others
//! until it is dropped: see [`Owned`]. Views of arguments are for the time that no Python code runs: see
//! [`In::view`] and [`detach`].

mod argument;
mod attach;
mod attribute;
mod borrows;
mod builtin;
mod class;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "python/no_cuda.rs"]
mod cuda;
mod detach;
mod error;
mod export;
mod fastcall;
#[cfg(feature = "files")]
mod files;
mod frameworks;
mod import;
#[cfg(any(feature = "cuda", feature = "kernels"))]
mod launch;
mod object;
#[cfg(feature = "kernels")]
mod ops;
mod place;
mod readonly;
mod refusal;
mod releaser;
mod spec;
mod tensor_class;
mod values;

pub use argument::{In, OrNumber, Out, Owned, from_object};
pub use attach::check_interpreter;
pub use class::{restore, scalar};
#[cfg(feature = "cuda")]
pub use cuda::PyStream;
pub use detach::{Detach, detach};
pub use error::{CudaError, Refused, fields_of};
pub use export::{Conversion, Explanation, Like, Outcome, convert, explain, to_framework};
pub use fastcall::fastcall;
#[cfg(feature = "files")]
pub use files::{PyTensorFile, dump_tensors, open_file, read_bytes, save_tensors};
pub use import::own::Wanted;
pub use import::passed::Passed;
#[cfg(feature = "cuda")]
pub use launch::{PyKernel, PyKernels};
#[cfg(feature = "kernels")]
pub use ops::{PyOp, PyRecorder, kernel_rows, op_function, op_named, publish_ops};
pub use place::{make, to_device};
pub use readonly::ReadOnlyPolicy;
pub use spec::{
    ANY_RANK, Any, AnyDevice, Arrangement, ColumnMajor, Cuda, Dense, Host, Kind, Place, RowMajor,
    Strided,
};
pub use tensor_class::PyTensor;
pub use values::{PyDType, PyDevice};
