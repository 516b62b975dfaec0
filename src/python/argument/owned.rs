//! [`Owned`], and [`Tensor`] as an argument.

use super::In;
use super::borrowed_arg::BorrowedArg;
use crate::python::argument_markers::{
    ANY_RANK, Any, AnyDevice, Arrangement, Kind, Place, Strided,
};
use crate::python::error::Refused;
use crate::python::import::check_borrowed;
use crate::python::import::own::{self, Wanted};
use crate::python::import::type_cache::ImportPath;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::marker::PhantomData;

/// A tensor that is kept: a [`Tensor`] that satisfies what the parameters, which are those of
/// [`In`](super::In), ask for.
///
/// Rust code may read what it keeps at any time, on any thread. So its memory is registered as read
/// until the last Rust handle to it is dropped: clones, parts, and those that
/// [`into_tensor`](Self::into_tensor) gave included. Meanwhile an [`Out`](super::Out) over that
/// memory is refused, as is the `out=` of an op of the same extension; and an `Owned` is refused
/// over memory that is being written. A handle that is returned to Python is Python's, and doesn't
/// count.
///
/// ```no_run
/// use dlbridge::Tensor;
/// use dlbridge::python::{In, Like, Out, Owned};
/// use pyo3::prelude::*;
///
/// /// A matrix that is kept, and whose rows are lent.
/// #[pyclass(frozen)]
/// struct Lookup(Tensor);
///
/// #[pymethods]
/// impl Lookup {
///     /// Keeps a matrix, without copying it.
///     #[new]
///     fn new(matrix: Owned<f32, 2>) -> Self {
///         Self(matrix.into_tensor())
///     }
///
///     /// A row, which shares the matrix's memory.
///     fn row(&self, index: usize) -> PyResult<Tensor> {
///         Ok(self.0.select(0, index)?)
///     }
///
///     /// Copies a row. Called with a part of the matrix as `out`, it is refused.
///     fn copy_row(&self, index: usize, mut out: Out<f32, 1>) -> PyResult<()> {
///         let row = self.0.select(0, index)?;
///         out.check_shape(row.shape())?;
///         for (out, x) in out.view_mut().iter_mut().zip(row.view::<f32>()?) {
///             *out = *x;
///         }
///         Ok(())
///     }
///
///     /// Rows, which share the matrix's memory, as a tensor of the framework that `like` is of.
///     fn rows<'py>(&self, start: usize, stop: usize, like: In<'py>) -> PyResult<Like<'py>> {
///         Ok(like.like(self.0.slice(0, start..stop)?))
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Owned<
    T: Kind = Any,
    const RANK: usize = ANY_RANK,
    L: Arrangement = Strided,
    D: Place = <T as Kind>::Home,
>(pub(super) Tensor, pub(super) PhantomData<(T, L, D)>);

impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> Owned<T, RANK, L, D> {
    /// Returns the tensor.
    pub fn into_tensor(self) -> Tensor {
        self.0
    }
}

impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> std::ops::Deref
    for Owned<T, RANK, L, D>
{
    type Target = Tensor;

    fn deref(&self) -> &Tensor {
        &self.0
    }
}

impl<'py, T: Kind, const RANK: usize, L: Arrangement, D: Place> FromPyObject<'_, 'py>
    for Owned<T, RANK, L, D>
{
    type Error = Refused;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::TENSOR_LIKE;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        // A capsule says the same each time, and is left as it is where it doesn't fit. Any other
        // object is asked once. In both cases what is checked below is what is kept.
        if object.is_instance_of::<PyCapsule>() {
            drop(In::<'py, T, RANK, L, D>::extract(object)?);
        }
        let tensor = import(object, Wanted::default())?;
        let tensor = BorrowedArg::keep::<T, RANK, L, D>(Some(object), tensor)?;
        Ok(Self(tensor, PhantomData))
    }
}

impl<'py> FromPyObject<'_, 'py> for Tensor {
    type Error = Refused;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::TENSOR_LIKE;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        let tensor = import(object, Wanted::default())?;
        keep(object.py(), Some(object), tensor)
    }
}

/// Returns the tensor of a Python object: a framework's tensor, a NumPy array, a buffer, or a
/// capsule.
///
/// What is shared stays the object's: it isn't written through the [`Tensor`]. Like an argument
/// that is kept, the memory is registered as read until the last handle to it is dropped.
///
/// # Errors
///
/// A `TypeError` for an object that isn't a tensor, a `BufferError` for one that can't be
/// exchanged, or not in the way that is wanted, and a `ValueError` for one whose memory is being
/// written by a call that is under way.
pub fn from_object(object: &Bound<'_, PyAny>, wanted: Wanted) -> PyResult<Tensor> {
    let borrowed = object.as_borrowed();
    let tensor = import(borrowed, wanted)?;
    Ok(keep(object.py(), Some(borrowed), tensor)?)
}

/// Returns an object's tensor, and checks that other arguments still have their borrowed memory.
fn import(object: Borrowed<'_, '_, PyAny>, wanted: Wanted) -> PyResult<Tensor> {
    // Of these, nothing runs Python code but guards, which have borrowed memory checked by
    // themselves.
    let is_silent = match ImportPath::cached(object) {
        Some(ImportPath::Own | ImportPath::Numpy) => true,
        Some(ImportPath::Table(_, vendor)) => !vendor.runs_python,
        Some(ImportPath::Buffer(_) | ImportPath::Scalar | ImportPath::Protocol) | None => false,
    };
    let tensor = own::from_object(&object, wanted)?;
    if !is_silent {
        check_borrowed(object.py())?;
    }
    Ok(tensor)
}

/// Registers the memory of an object's tensor as kept by Rust code, which may read it from now on.
pub(in crate::python) fn keep(
    _: Python<'_>,
    object: Option<Borrowed<'_, '_, PyAny>>,
    tensor: Tensor,
) -> Result<Tensor, Refused> {
    BorrowedArg::keep::<Any, ANY_RANK, Strided, AnyDevice>(object, tensor)
}
