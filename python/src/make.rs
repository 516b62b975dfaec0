//! Tensors from nothing.
//!
//! Default dtypes are NumPy's, as the array API standard allows: bool for bools, int64 for
//! integers, float64 for floats and where nothing is given, complex128 for complex numbers.

use dlbridge::dlpack::python::intern;
use dlbridge::dtype::Scalar;
use dlbridge::error::{Incompatibility, IncompatibilityKind};
use dlbridge::python::package::{make, one_or_several, raise, scalar, wrong_argument, wrong_value};
use dlbridge::python::to_device;
use dlbridge::{DType, Device, Error, Tensor};
use pyo3::Borrowed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The dtype of floats where none is given.
const FLOAT: DType = DType::F64;

/// Sizes: one, or several.
pub(super) struct Shape(Vec<usize>);

impl Shape {
    fn sizes(&self) -> &[usize] {
        &self.0
    }
}

impl FromPyObject<'_, '_> for Shape {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let sizes: Vec<isize> = one_or_several(&object)?;
        let sizes = sizes.iter().map(|size| usize::try_from(*size));
        match sizes.collect() {
            Ok(sizes) => Ok(Self(sizes)),
            Err(_) => {
                let found = object.str()?.to_string();
                let reason = format!("{found} has a negative size");
                let error = Incompatibility::new(IncompatibilityKind::Shape, found, "0 or more");
                Err(raise::<PyValueError>(error.with_reason(reason)))
            }
        }
    }
}

/// A tensor that was made on the host, on the device where it should be.
pub(super) fn settled(tensor: Tensor, device: Option<Device>) -> PyResult<Tensor> {
    match device {
        Some(device) if device != Device::CPU => {
            check_device(Some(device))?;
            to_device(&tensor, device)
        }
        _ => Ok(tensor),
    }
}

/// Whether tensors can be made on a device.
pub(super) fn check_device(device: Option<Device>) -> PyResult<()> {
    match device {
        Some(device) if device != Device::CPU => make(&[0], DType::U8, device).map(drop),
        _ => Ok(()),
    }
}

/// A tensor without defined values: zeros at present, or ones where the dtype has no zero.
///
/// `dtype` is float64 if not given, as in NumPy; PyTorch's and JAX's default is float32.
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, *, device=None))]
pub(super) fn empty(
    shape: Shape,
    dtype: Option<DType>,
    device: Option<Device>,
) -> PyResult<Tensor> {
    let has_zero = Tensor::zeros(&[], dtype.unwrap_or(FLOAT)).is_ok();
    match has_zero {
        true => zeros(shape, dtype, device),
        false => ones(shape, dtype, device),
    }
}

/// A tensor of zeros.
///
/// `dtype` is float64 if not given, as in NumPy; PyTorch's and JAX's default is float32.
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, *, device=None))]
pub(super) fn zeros(
    shape: Shape,
    dtype: Option<DType>,
    device: Option<Device>,
) -> PyResult<Tensor> {
    make(
        shape.sizes(),
        dtype.unwrap_or(FLOAT),
        device.unwrap_or(Device::CPU),
    )
}

/// A tensor of ones.
///
/// `dtype` is float64 if not given, as in NumPy; PyTorch's and JAX's default is float32.
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, *, device=None))]
pub(super) fn ones(shape: Shape, dtype: Option<DType>, device: Option<Device>) -> PyResult<Tensor> {
    check_device(device)?;
    settled(Tensor::ones(shape.sizes(), dtype.unwrap_or(FLOAT))?, device)
}

/// A tensor filled with one number.
///
/// Without `dtype`, the number decides, as in NumPy: bool for a bool, int64 for an int (uint64
/// where int64 is too small), float64 for a float, complex128 for a complex number.
#[pyfunction]
#[pyo3(signature = (shape, fill_value, dtype=None, *, device=None))]
pub(super) fn full(
    shape: Shape,
    fill_value: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    device: Option<Device>,
) -> PyResult<Tensor> {
    check_device(device)?;
    let value = number(fill_value)?;
    let dtype = dtype.unwrap_or_else(|| type_of(value));
    settled(Tensor::full_of(shape.sizes(), dtype, value)?, device)
}

/// Numbers in equal steps: `arange(stop)`, `arange(start, stop)` or `arange(start, stop, step)`.
///
/// Without `dtype`, int64 where all of them are integers, and float64 otherwise, as in NumPy.
#[pyfunction]
#[pyo3(signature = (start, stop=None, step=None, dtype=None, *, device=None))]
pub(super) fn arange(
    start: &Bound<'_, PyAny>,
    stop: Option<&Bound<'_, PyAny>>,
    step: Option<&Bound<'_, PyAny>>,
    dtype: Option<DType>,
    device: Option<Device>,
) -> PyResult<Tensor> {
    check_device(device)?;
    let (start, stop) = match stop {
        Some(stop) => (number(start)?, number(stop)?),
        None => (Scalar::Int(0), number(start)?),
    };
    let step = step.map_or(Ok(Scalar::Int(1)), number)?;
    let counted = |number| match number {
        Scalar::Bool(value) => Scalar::Int(value.into()),
        number => number,
    };
    let numbers = match (counted(start), counted(stop), counted(step)) {
        (Scalar::Int(start), Scalar::Int(stop), Scalar::Int(step)) => {
            let [start, stop, step] = [start, stop, step].map(i64::try_from);
            let (Ok(start), Ok(stop), Ok(step)) = (start, stop, step) else {
                return Err(wrong_value(
                    "more than 64 bits",
                    "integers of 64 bits",
                    "arange counts in 64 bits",
                ));
            };
            check_step(step == 0)?;
            Tensor::arange(start, stop, step)?
        }
        (start, stop, step) => {
            let [start, stop, step] = [float(start)?, float(stop)?, float(step)?];
            check_step(step == 0.0)?;
            if [start, stop, step].iter().any(|number| number.is_nan()) {
                let reason = "arange can't count from, to, or in steps of NaN";
                return Err(wrong_value("NaN", "a number", reason));
            }
            Tensor::arange(start, stop, step)?
        }
    };
    let numbers = match dtype {
        Some(dtype) => cast(&numbers, dtype)?,
        None => numbers,
    };
    settled(numbers, device)
}

fn check_step(is_zero: bool) -> PyResult<()> {
    if is_zero {
        let reason = "arange can't count in steps of 0";
        return Err(wrong_value("0", "another step", reason));
    }
    Ok(())
}

/// The same numbers as elements of another type.
pub(super) fn cast(tensor: &Tensor, dtype: DType) -> Result<Tensor, Error> {
    if tensor.dtype() == dtype {
        return Ok(tensor.clone());
    }
    Tensor::from_scalars(tensor.shape(), dtype, tensor.scalars()?)
}

/// A number of Python's, or of a framework's: a scalar, or a tensor of rank 0.
pub(super) fn number(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Some(number) = scalar(object)? {
        return Ok(number);
    }
    if let Some(item) = object.getattr_opt(intern!(object.py(), "item"))? {
        let has_no_dimensions = match object.getattr_opt(intern!(object.py(), "shape"))? {
            Some(shape) => shape.len()? == 0,
            None => false,
        };
        if has_no_dimensions && let Some(number) = scalar(&item.call0()?)? {
            return Ok(number);
        }
    }
    let what = object.get_type().fully_qualified_name()?;
    let reason = format!("expected a number, got {what}");
    Err(wrong_argument(what.to_string(), "a number", reason))
}

fn float(number: Scalar) -> PyResult<f64> {
    match number {
        Scalar::Int(value) => Ok(value as f64),
        Scalar::Float(value) => Ok(value),
        _ => Err(wrong_argument(
            "a complex number",
            "real numbers",
            "arange counts in real numbers",
        )),
    }
}

/// The element type of a Python number, as NumPy has it.
pub(super) fn type_of(number: Scalar) -> DType {
    match number {
        Scalar::Bool(_) => DType::BOOL,
        Scalar::Int(value) if value > i64::MAX.into() => DType::U64,
        Scalar::Int(_) => DType::I64,
        Scalar::Complex(..) => DType::C128,
        _ => FLOAT,
    }
}
