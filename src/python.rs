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
//! Each of them may be in an `Option`, a `Vec`, a `HashMap` or a tuple; errors of a [`List`] and of
//! a [`Dict`] name the element as well. What [`In`], [`Out`] and [`Owned`] ask of the tensor is in
//! their parameters: element type, or [`OneOf`] several, rank, [layout](Arrangement) and
//! [device](Place). An error says what was expected and what was found, and Python adds the
//! argument's name to it.
//!
//! | a result that is | has the type |
//! |---|---|
//! | an object of our own class | [`Tensor`](crate::Tensor) |
//! | an object of an argument's framework | [`Like`], from [`In::like`] |
//! | an object of a framework by name | [`to_framework`], or [`convert`], which may copy |
//!
//! Two arguments of which one is written must not share memory: see [`Out`]. What is kept isn't
//! written by others until it is dropped: see [`Owned`]. Views of arguments are for the time that
//! no Python code runs: see [`In::view`] and [`detach`].

mod argument;
mod argument_markers;
mod attach;
mod borrows;
mod builtin;
mod class;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(not(feature = "cuda"))]
#[path = "python/no_cuda.rs"]
mod cuda;
mod detach;
mod dtype_and_device;
mod error;
mod export;
mod fastcall;
#[cfg(feature = "files")]
mod files;
mod frameworks;
#[cfg(feature = "experimental-inspect")]
mod hints;
mod import;
mod items;
#[cfg(any(feature = "cuda", feature = "kernels"))]
mod launch;
mod object;
mod on_device;
#[cfg(feature = "kernels")]
mod ops;
mod readonly;
mod refusal;
mod releaser;
mod tensor_object;
mod type_attribute;

pub use argument::{Dict, Dispatch, In, List, OrNumber, Out, Owned, from_object};
#[doc(hidden)]
pub use argument::{Dispatching, Dtypes};
pub use argument_markers::{
    ANY_RANK, Any, AnyDevice, Arrangement, ColumnMajor, ContiguousRows, Cuda, Dense, ElementList,
    Host, Kind, OneOf, Place, RowMajor, Strided,
};
pub use attach::check_interpreter;
pub use detach::{Detach, Detachable, OneOfView, OneOfViewMut, detach};
pub use dtype_and_device::{PyDType, PyDevice};
pub use error::{CudaError, Refused, fields_of};
pub use export::{Conversion, Explanation, Like, Outcome, convert, explain, to_framework};
#[cfg(feature = "files")]
pub use files::PyTensorFile;
pub use import::own::Wanted;
pub use import::passed::Passed;
pub use on_device::to_device;
#[cfg(feature = "kernels")]
pub use ops::{PyOp, op_function, publish_ops};
pub use readonly::ReadOnlyPolicy;
pub use tensor_object::PyTensor;

/// What only the compiled module of the package `dlbridge` uses: not for extensions, and without
/// promises of stability.
#[doc(hidden)]
pub mod package {
    pub use super::class::{restore, scalar};
    #[cfg(feature = "cuda")]
    pub use super::cuda::PyStream;
    pub use super::error::{is_no_tensor, raise, wrong_argument, wrong_value};
    pub use super::fastcall::fastcall;
    #[cfg(feature = "files")]
    pub use super::files::{Align, dump_tensors, open_file, read_bytes, save_tensors};
    pub use super::items::one_or_several;
    #[cfg(feature = "cuda")]
    pub use super::launch::{PyKernel, PyKernels};
    pub use super::on_device::make;
    #[cfg(feature = "kernels")]
    pub use super::ops::{
        PyRecorder, kernel_rows, nearest_name, num_threads, op_named, set_num_threads,
    };
}
