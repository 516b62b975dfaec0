//! The struct behind the class `Tensor`, and how its objects are made.
//!
//! Its methods are in [`class`](super::class), which may use all of `python`.

mod kept;
mod source;

use crate::tensor::Tensor;
use kept::Kept;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;
use source::Source;

/// A tensor: memory of any owner, and its layout. It never changes; its elements may.
#[pyclass(frozen, weakref, freelist = 64, name = "Tensor", module = "dlbridge")]
#[derive(Debug)]
pub struct PyTensor {
    pub(super) tensor: Kept,
    source: Source,
}

/// Returns the tensor of an object of our class.
///
/// # Safety
///
/// The object is of this class.
#[inline]
pub(super) unsafe fn tensor_of<'a>(object: Borrowed<'a, '_, PyAny>) -> &'a Tensor {
    // SAFETY: the object is of this class, which is frozen, so that the object has its tensor for
    // good.
    let object = unsafe { object.cast_unchecked::<PyTensor>() };
    let tensor: *const Tensor = &raw const *object.get().tensor;
    // SAFETY: the object is there for as long as `'a`.
    unsafe { &*tensor }
}

impl PyTensor {
    /// Returns the element type.
    pub fn element_type(&self) -> crate::dtype::DType {
        self.tensor.dtype()
    }

    /// Returns the tensor, to be described and passed on.
    pub(super) fn inner(&self) -> &Tensor {
        &self.tensor
    }

    /// Creates an object for the tensor of a foreign object, which it remembers; `is_lasting`: that
    /// object's type is there for good.
    #[inline]
    pub(super) fn found_in<'py>(
        object: Borrowed<'_, 'py, PyAny>,
        is_lasting: bool,
        tensor: Tensor,
    ) -> PyResult<Bound<'py, Self>> {
        let source = match tensor.is_copied() {
            true => Source::None,
            false => Source::from_object(object, is_lasting),
        };
        let tensor = Kept::new(tensor);
        Bound::new(object.py(), Self { tensor, source })
    }

    /// Returns the type of the object that the memory is shared with, if it is another framework's.
    pub(super) fn source<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyType>> {
        self.source.kind(py)
    }

    /// Makes another view of the same memory.
    pub(super) fn part(&self, py: Python<'_>, tensor: Tensor) -> Self {
        Self {
            tensor: Kept::new(tensor),
            source: self.source.clone_ref(py),
        }
    }
}

impl From<Tensor> for PyTensor {
    fn from(tensor: Tensor) -> Self {
        Self {
            tensor: Kept::new(tensor),
            source: Source::None,
        }
    }
}

impl<'py> IntoPyObject<'py> for Tensor {
    type Target = PyTensor;
    type Output = Bound<'py, PyTensor>;
    type Error = PyErr;

    #[cfg(feature = "experimental-inspect")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::TENSOR;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        Bound::new(py, PyTensor::from(self))
    }
}
