//! Views of the same memory as methods.

use super::index;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::{raise, unsuitable};
use crate::python::items::{Items, one_or_several};
use crate::python::tensor_object::PyTensor;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyRange, PyTuple};

#[pymethods]
impl PyTensor {
    /// Returns the dimensions in reverse order, sharing the memory.
    #[getter(T)]
    fn reversed(&self, py: Python<'_>) -> Self {
        self.part(py, self.tensor.transpose())
    }

    /// The last two dimensions swapped, sharing the memory: a stack of matrices, each transposed.
    #[getter(mT)]
    fn matrix_transpose(&self, py: Python<'_>) -> PyResult<Self> {
        let rank = self.ndim();
        if rank < 2 {
            let error = Incompatibility::new(Kind::Rank, rank.to_string(), "2 or more");
            let reason = format!("mT needs a tensor of rank 2 or more, got rank {rank}");
            return Err(raise::<PyValueError>(error.with_reason(reason)));
        }
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.swap(rank - 2, rank - 1);
        Ok(self.part(py, self.tensor.permute(&axes)?))
    }

    /// The dimensions in another order, sharing the memory: `transpose` under its array API name,
    /// with all axes given.
    fn permute_dims(&self, py: Python<'_>, axes: Items<isize>) -> PyResult<Self> {
        let axes = axes.0.iter().map(|axis| index::axis(*axis, self.ndim()));
        let axes = axes.collect::<PyResult<Vec<_>>>()?;
        Ok(self.part(py, self.tensor.permute(&axes)?))
    }

    /// The dimensions in another order, or in reverse, sharing the memory.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, py: Python<'_>, axes: &Bound<'_, PyTuple>) -> PyResult<Self> {
        if axes.is_empty() {
            return Ok(self.reversed(py));
        }
        self.permute_dims(py, Items(flat(axes)?))
    }

    /// Reshapes without a copy; one size may be -1. Raises an error if it would take a copy.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let shape = complete(&flat(shape)?, self.tensor.len())?;
        Ok(self.part(py, self.tensor.reshape(&shape)?))
    }

    /// Elements repeated along dimensions of size 1 and new ones, sharing the memory.
    #[pyo3(signature = (*shape))]
    fn broadcast_to(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let shape = flat::<isize>(shape)?;
        let sizes = shape.iter().map(|size| usize::try_from(*size));
        let Ok(sizes) = sizes.collect::<Result<Vec<_>, _>>() else {
            return Err(negative_size(&shape));
        };
        Ok(self.part(py, self.tensor.broadcast_to(&sizes)?))
    }

    /// Removes dimensions of size 1, or one of them, without a copy.
    #[pyo3(signature = (axis=None))]
    fn squeeze(&self, py: Python<'_>, axis: Option<isize>) -> PyResult<Self> {
        if let Some(axis) = axis {
            let axis = index::axis(axis, self.ndim())?;
            return Ok(self.part(py, self.tensor.squeeze(axis)?));
        }
        let mut tensor = self.tensor.clone();
        for axis in (0..self.ndim()).rev() {
            if tensor.shape()[axis] == 1 {
                tensor = tensor.squeeze(axis)?;
            }
        }
        Ok(self.part(py, tensor))
    }

    /// Inserts a dimension of size 1, without a copy.
    fn unsqueeze(&self, py: Python<'_>, axis: isize) -> PyResult<Self> {
        let axis = index::axis(axis, self.ndim() + 1)?;
        Ok(self.part(py, self.tensor.unsqueeze(axis)?))
    }

    /// With one more dimension of size 1, sharing the memory: `unsqueeze` under its array API name.
    #[pyo3(signature = (axis=0))]
    fn expand_dims(&self, py: Python<'_>, axis: isize) -> PyResult<Self> {
        self.unsqueeze(py, axis)
    }

    /// The same bits as elements of another type, sharing the memory.
    fn view(&self, py: Python<'_>, dtype: DType) -> PyResult<Self> {
        Ok(self.part(py, self.tensor.bit_cast(dtype)?))
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(self.part(py, index::index(&self.tensor, key)?))
    }

    fn __len__(&self) -> PyResult<usize> {
        let size = self.tensor.shape().first().copied();
        size.ok_or_else(|| {
            let error = Incompatibility::new(Kind::Rank, "0", "1 or more");
            raise::<PyTypeError>(error.with_reason("a tensor of rank 0 has no length"))
        })
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // One by one, as there may be more than fit into memory.
        let py = slf.py();
        let indices = PyRange::new(py, 0, slf.len()? as isize)?;
        let part = slf.getattr(intern!(py, "__getitem__"))?;
        let map = py
            .import(intern!(py, "builtins"))?
            .getattr(intern!(py, "map"))?;
        map.call1((part, indices))
    }
}

/// Sizes or dimensions, given one by one or as one sequence.
fn flat<T>(numbers: &Bound<'_, PyTuple>) -> PyResult<Vec<T>>
where
    T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    match numbers.len() {
        1 => one_or_several(&numbers.get_item(0)?),
        _ => numbers.iter().map(|number| number.extract()).collect(),
    }
}

#[cold]
fn negative_size(shape: &[isize]) -> PyErr {
    unsuitable((Kind::Shape, format!("{shape:?} has a negative size")))
}

/// Sizes of which one may be -1, for that many elements.
fn complete(shape: &[isize], len: usize) -> PyResult<Vec<usize>> {
    let unknown = shape.iter().filter(|size| **size == -1).count();
    let known = shape.iter().filter(|size| **size != -1);
    let known = known
        .map(|size| usize::try_from(*size))
        .collect::<Result<Vec<_>, _>>();
    let Ok(known) = known else {
        return Err(negative_size(shape));
    };
    let product = known.iter().try_fold(1_usize, |a, b| a.checked_mul(*b));
    let missing = match product {
        Some(product) if unknown == 1 && product > 0 && len.is_multiple_of(product) => {
            len / product
        }
        _ if unknown == 0 => 0,
        _ => {
            return Err(unsuitable((
                Kind::Shape,
                format!("{len} elements don't make up {shape:?}"),
            )));
        }
    };
    Ok(shape
        .iter()
        .map(|size| usize::try_from(*size).unwrap_or(missing))
        .collect())
}
