//! Elements as Python's numbers, and their comparison.

use crate::dtype::{DType, Scalar, TypeCode};
use crate::error::IncompatibilityKind as Kind;
use crate::python::cuda;
use crate::python::error::{digits, is_no_tensor, unsuitable, wrong_argument};
use crate::python::import::own::{Wanted, from_object};
use crate::python::tensor_object::PyTensor;
use crate::tensor::Tensor;
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyString};

#[pymethods]
impl PyTensor {
    /// Returns the same elements in memory of its own, row-major.
    fn copy(&self) -> PyResult<Self> {
        Ok(cuda::copy(&self.tensor)?.into())
    }

    /// Returns the only element, as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.tensor)
    }

    /// Returns the elements as lists in lists.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_list(py, &self.tensor)
    }

    /// Returns whether another tensor has the same shape, element type and elements.
    fn equals(&self, py: Python<'_>, other: Tensor) -> PyResult<bool> {
        let (ours, theirs) = (cuda::on_host(&self.tensor)?, cuda::on_host(&other)?);
        ours.equals_while(&theirs, || py.check_signals())
    }

    /// Returns whether each two elements differ by at most `atol + rtol * abs(theirs)`.
    #[pyo3(signature = (other, *, rtol=1e-5, atol=1e-8))]
    fn allclose(&self, py: Python<'_>, other: Tensor, rtol: f64, atol: f64) -> PyResult<bool> {
        let (ours, theirs) = (cuda::on_host(&self.tensor)?, cuda::on_host(&other)?);
        ours.all_close_while(&theirs, rtol, atol, || py.check_signals())
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let is_equal = match operator {
            CompareOp::Eq => true,
            CompareOp::Ne => false,
            _ => return Ok(py.NotImplemented()),
        };
        if other.is_instance_of::<PyString>() {
            return Ok(py.NotImplemented()); // NumPy's have buffers.
        }
        if other.is_instance_of::<PyInt>()
            || other.is_instance_of::<PyFloat>()
            || other.is_instance_of::<PyComplex>()
        {
            let number = match usual_number(other) {
                Some(number) => number,
                None => large_integer(other)?,
            };
            let equal = equal_to(py, &*cuda::on_host(&self.tensor)?, number, is_equal)?;
            return Ok(equal.into_pyobject(py)?.into_any().unbind());
        }
        let other = match from_object(other, Wanted::default()) {
            Ok(other) => other,
            Err(error) if is_no_tensor(py, &error) => return Ok(py.NotImplemented()),
            Err(error) => return Err(error),
        };
        let (ours, theirs) = (cuda::on_host(&self.tensor)?, cuda::on_host(&other)?);
        let equal = equal(py, &ours, &theirs, is_equal)?;
        Ok(equal.into_pyobject(py)?.into_any().unbind())
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        // Of the object, as elements may change.
        (slf.as_ptr().addr() >> 4) as isize
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        item(py, &self.tensor)?.is_truthy()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((item(py, &self.tensor)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dtype = self.tensor.dtype();
        let is_integer = matches!(dtype.code(), TypeCode::Int | TypeCode::UInt);
        if self.tensor.rank() != 0 || !is_integer || dtype.lanes() != 1 {
            let shape = self.tensor.shape();
            let found = format!("{dtype}, shape {shape:?}");
            let wanted = "an integer tensor of rank 0";
            let reason = format!("expected {wanted} as an index, got {found}");
            return Err(wrong_argument(found, wanted, reason));
        }
        item(py, &self.tensor)
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        item(py, &self.tensor)?.extract()
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let item = item(py, &self.tensor)?;
        py.get_type::<PyComplex>().call1((item,))
    }
}

fn number(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    Ok(match scalar {
        Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Handle(value) => value.into_pyobject(py)?.into_any(),
        Scalar::Float(value) => PyFloat::new(py, value).into_any(),
        Scalar::Complex(re, im) => PyComplex::from_doubles(py, re, im).into_any(),
        Scalar::Bool(value) => PyBool::new(py, value).to_owned().into_any(),
    })
}

/// Returns the only element.
fn item<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    if tensor.len() != 1 || tensor.dtype().lanes() != 1 {
        return Err(unsuitable((
            Kind::Shape,
            format!(
                "only a tensor of one number is a number, and this has shape {:?} of {}",
                tensor.shape(),
                tensor.dtype()
            ),
        )));
    }
    let tensor = cuda::on_host(tensor)?;
    let mut scalars = tensor.scalars()?;
    number(py, scalars.next().expect("there is one element"))
}

/// Lists in lists; an element of several lanes is a list too.
fn to_list<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let mut shape = tensor.shape().to_vec();
    let lanes = usize::from(tensor.dtype().lanes());
    if lanes > 1 {
        shape.push(lanes);
    }
    nest(py, &shape, &mut cuda::on_host(tensor)?.scalars()?)
}

fn nest<'py>(
    py: Python<'py>,
    shape: &[usize],
    scalars: &mut impl Iterator<Item = Scalar>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some((size, inner)) = shape.split_first() else {
        return number(py, scalars.next().expect("as many as the shape has"));
    };
    let list = PyList::empty(py);
    for at in 0..*size {
        if at % AT_ONCE == AT_ONCE - 1 {
            py.check_signals()?;
        }
        list.append(nest(py, inner, scalars)?)?;
    }
    Ok(list.into_any())
}

/// Returns a Python number.
///
/// # Errors
///
/// As of asking it.
pub fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    match usual_number(object) {
        None if object.is_instance_of::<PyInt>() => {
            let text = digits(object);
            Err(unsuitable((
                Kind::Value,
                format!("{text:.40} can't be stored in any element type"),
            )))
        }
        number => Ok(number),
    }
}

/// Returns a Python number that an element type may have.
fn usual_number(object: &Bound<'_, PyAny>) -> Option<Scalar> {
    if let Ok(value) = object.cast::<PyBool>() {
        Some(Scalar::Bool(value.is_true()))
    } else if object.is_instance_of::<PyInt>() {
        object.extract().ok().map(Scalar::Int)
    } else if let Ok(value) = object.cast::<PyFloat>() {
        Some(Scalar::Float(value.value()))
    } else if let Ok(value) = object.cast::<PyComplex>() {
        Some(Scalar::Complex(value.real(), value.imag()))
    } else {
        None
    }
}

/// Returns an integer that no element type of integers has, as the float that equals it; NaN, which
/// equals no element, where there is none.
fn large_integer(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    let nearest: f64 = object.extract().unwrap_or(f64::NAN);
    let is_equal = nearest.is_finite() && object.eq(PyFloat::new(object.py(), nearest))?;
    Ok(Scalar::Float(if is_equal { nearest } else { f64::NAN }))
}

/// How many elements are visited between two looks for signals, so that the user can interrupt what
/// takes long.
const AT_ONCE: usize = 1 << 16;

/// Compares elements with another tensor's, both broadcast to one shape; returns a tensor of
/// `bool`.
fn equal(py: Python<'_>, left: &Tensor, right: &Tensor, is_equal: bool) -> PyResult<Tensor> {
    let shape = common_shape(left.shape(), right.shape());
    let (left, right) = (left.broadcast_to(&shape)?, right.broadcast_to(&shape)?);
    let lanes = usize::from(left.dtype().lanes());
    let is_same_width = left.dtype().lanes() == right.dtype().lanes();
    let (mut ours, mut theirs) = (left.scalars()?, right.scalars()?);
    truth_values(py, &shape, || {
        let pairs = ours.by_ref().take(lanes).zip(theirs.by_ref().take(lanes));
        let differing = pairs.filter(|(a, b)| !is_one_number(*a, *b)).count();
        (is_same_width && differing == 0) == is_equal
    })
}

/// Compares elements with a number; returns a tensor of `bool`.
fn equal_to(py: Python<'_>, tensor: &Tensor, number: Scalar, is_equal: bool) -> PyResult<Tensor> {
    let lanes = usize::from(tensor.dtype().lanes());
    let mut scalars = tensor.scalars()?.step_by(lanes);
    truth_values(py, tensor.shape(), || {
        let scalar = scalars.next().expect("as many as the shape has");
        (lanes == 1 && is_one_number(scalar, number)) == is_equal
    })
}

/// Returns a tensor of truth values, one answer for each element. Its memory is allocated before,
/// as it may be too much.
fn truth_values(
    py: Python<'_>,
    shape: &[usize],
    mut answer: impl FnMut() -> bool,
) -> PyResult<Tensor> {
    let mut answers = Tensor::zeroed(shape, DType::BOOL)?;
    let mut view = answers.view_mut::<bool>()?;
    for (at, place) in view.iter_mut().enumerate() {
        if at % AT_ONCE == AT_ONCE - 1 {
            py.check_signals()?;
        }
        *place = answer();
    }
    Ok(answers)
}

fn is_one_number(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a == b,
        // Not every integer is a float.
        (Scalar::Int(integer), Scalar::Float(float))
        | (Scalar::Float(float), Scalar::Int(integer)) => {
            // The largest integers all become one float, which is larger.
            integer as f64 == float && float as i128 == integer && float < i128::MAX as f64
        }
        _ => a.to_complex() == b.to_complex(),
    }
}

/// Returns the shape that both can be broadcast to, or else one that either can't.
fn common_shape(left: &[usize], right: &[usize]) -> Vec<usize> {
    let rank = left.len().max(right.len());
    let size = |shape: &[usize], axis: usize| {
        let missing = rank - shape.len();
        if axis < missing {
            1
        } else {
            shape[axis - missing]
        }
    };
    (0..rank)
        .map(|axis| match (size(left, axis), size(right, axis)) {
            (1, other) => other,
            (size, _) => size,
        })
        .collect()
}
