//! The class `Tensor`, whose objects extensions return.
//!
//! Every extension that is built with this crate has a class of its own. They accept each other's
//! objects as they accept those of any library: through the exchange table.

#[cfg(any(not(Py_LIMITED_API), Py_3_11))]
mod buffer;
mod elements;
mod export;
mod html;
mod index;
mod pickle;
mod protocol;
mod views;

pub use elements::scalar;
pub use pickle::restore;

use super::argument::keep;
use super::dtype_and_device::{PyDType, PyDevice};
use super::tensor_object::PyTensor;
use crate::python::import::own::{Wanted, from_object, quick};
use crate::python::import::type_cache::is_remembered;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

impl PyTensor {
    /// Returns the tensor, to be kept and read: like an argument that is kept, its memory is
    /// registered as read until the last handle to it is dropped.
    ///
    /// # Errors
    ///
    /// A `ValueError` when the memory is being written by a call that is under way.
    pub fn tensor(&self, py: Python<'_>) -> PyResult<Tensor> {
        Ok(keep(py, None, self.inner().clone())?)
    }

    /// Returns the tensor of a Python object, as [`from_object`](super::from_object) gets it, which
    /// remembers whose it is.
    ///
    /// # Errors
    ///
    /// The same as for [`dlbridge::python::from_object`](super::from_object).
    pub fn from_object<'py>(
        object: &Bound<'py, PyAny>,
        wanted: Wanted,
    ) -> PyResult<Bound<'py, Self>> {
        let tensor = from_object(object, wanted)?;
        match object.cast_exact::<Self>() {
            Ok(ours) if !tensor.is_copied() => {
                Bound::new(object.py(), ours.get().part(object.py(), tensor))
            }
            _ => found_in(object.as_borrowed(), tensor),
        }
    }

    /// Creates an object like [`from_object`](Self::from_object), without options, for [`quick`].
    #[inline]
    pub(super) fn quick<'py>(
        object: Borrowed<'_, 'py, PyAny>,
    ) -> Option<PyResult<Bound<'py, Self>>> {
        Some(quick(object)?.and_then(|tensor| found_in(object, tensor)))
    }
}

#[inline]
fn found_in<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyTensor>> {
    let is_lasting = is_remembered(object.get_type_ptr());
    PyTensor::found_in(object, is_lasting, tensor)
}

#[pymethods]
impl PyTensor {
    /// Returns the sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// Returns the steps between elements along each dimension, counted in elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.strides())
    }

    /// Returns the element type; its str is the name.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.tensor.dtype())
    }

    /// Returns where the memory is; its str is the name.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice(self.tensor.device())
    }

    /// Returns how many dimensions there are.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    /// Returns how many elements there are.
    #[getter]
    fn size(&self) -> usize {
        self.tensor.len()
    }

    /// Returns how many bytes an element takes: a fraction, where it is less than one.
    #[getter]
    fn itemsize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bits = self.tensor.dtype().step_bits(self.tensor.is_padded());
        Ok(match bits % 8 {
            0 => (bits / 8).into_pyobject(py)?.into_any(),
            _ => (bits as f64 / 8.0).into_pyobject(py)?.into_any(),
        })
    }

    /// Returns how many bytes the elements would take one after another.
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor.nbytes()
    }

    /// Returns the address of the first element.
    #[getter]
    fn data_ptr(&self) -> usize {
        self.tensor.data_ptr().addr()
    }

    /// Returns whether the memory must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.tensor.is_read_only()
    }

    /// Returns whether the elements are row-major without gaps.
    #[getter]
    fn is_contiguous(&self) -> bool {
        self.tensor.layout().is_contiguous()
    }

    /// Returns the owner of the memory, in words: the type of the object that it is shared with, or
    /// what keeps it.
    #[getter]
    fn owner(&self, py: Python<'_>) -> PyResult<String> {
        match self.source(py) {
            Some(kind) => Ok(kind.fully_qualified_name()?.to_string()),
            None if self.tensor.is_copied() => Ok("dlbridge, by a copy".to_owned()),
            None => Ok(short(self.tensor.storage().owner_name())),
        }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", *self.tensor)
    }

    fn __str__(&self) -> String {
        self.tensor.to_string()
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(html::html(&self.tensor, &self.owner(py)?))
    }
}

/// Returns a type's name without the paths in it, and without what only holds it.
fn short(name: &str) -> String {
    let mut short = String::new();
    for part in name.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        short.push_str(part.rsplit("::").next().unwrap_or(part));
    }
    let mut short = short.as_str();
    while let Some(inner) = ["Boxed<", "Aligned2<", "Box<", "Inspectable<"]
        .iter()
        .find_map(|holder| short.strip_prefix(holder)?.strip_suffix('>'))
    {
        short = inner;
    }
    match short {
        "NoOwner" => "no owner".to_owned(),
        other => other.to_owned(),
    }
}
