//! [`Owned`], and [`Tensor`] as an argument.

use super::In;
use crate::python::error::Refused;
use crate::python::spec::{ANY_RANK, Any, Arrangement, Kind, Place, Strided};
use crate::python::take::{Wanted, from_object};
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::marker::PhantomData;

/// A tensor that is kept: a [`Tensor`] that satisfies what the parameters, which are those of
/// [`In`], ask for.
///
/// ```no_run
/// use dlbridge::Tensor;
/// use dlbridge::python::{In, Like, Owned};
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
>(Tensor, PhantomData<(T, L, D)>);

impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> Owned<T, RANK, L, D> {
    /// The tensor.
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

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        // As a borrowed argument it is checked in the one way there is.
        drop(In::<'py, T, RANK, L, D>::extract(object)?);
        Ok(Self(from_object(&object, Wanted::default())?, PhantomData))
    }
}

impl<'py> FromPyObject<'_, 'py> for Tensor {
    type Error = Refused;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        Ok(from_object(&object, Wanted::default())?)
    }
}
