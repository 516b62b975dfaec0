//! Numbers as arguments of kernels: as the source says, or as wide as the driver says.

use crate::cuda::{Argument, ParameterKind};
use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::python::argument::number_bytes;
use crate::python::error::{no_such_number, unsuitable};
use crate::python::frameworks::numpy;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

pub(super) fn is_number(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>()
}

/// Returns a number as the kernel takes it; `None` if it isn't a number.
pub(super) fn number(
    object: Borrowed<'_, '_, PyAny>,
    kind: ParameterKind,
    size: Option<usize>,
) -> PyResult<Option<Argument<'static>>> {
    let of = |object: Borrowed<'_, '_, PyAny>, dtype: DType| {
        let bytes = number_bytes(object, dtype)?;
        let bytes = bytes.ok_or_else(|| no_such_number(object, dtype))?;
        let count = usize::from(dtype.bits()) / 8;
        Ok(Some(Argument::from_bytes(bytes.bytes(), count)))
    };
    if is_number(object) {
        return of(
            object,
            dtype_of(kind).map_or_else(|| guessed(object, size), Ok)?,
        );
    }
    // NumPy's numbers know what they are.
    if !numpy::is_scalar(object) {
        return Ok(None);
    }
    let py = object.py();
    let dtype = match dtype_of(kind) {
        Some(dtype) => dtype,
        None => object.getattr(intern!(py, "dtype"))?.extract()?,
    };
    let plain = object.call_method0(intern!(py, "item"))?;
    of(plain.as_borrowed(), dtype)
}

fn dtype_of(kind: ParameterKind) -> Option<DType> {
    use ParameterKind::{BFloat16, Bool, Float, Half, Int};
    Some(match kind {
        Bool => DType::BOOL,
        Half => DType::F16,
        BFloat16 => DType::BF16,
        Float { bytes: 4 } => DType::F32,
        Float { .. } => DType::F64,
        Int { bytes, is_signed } => match (bytes, is_signed) {
            (1, true) => DType::I8,
            (2, true) => DType::I16,
            (4, true) => DType::I32,
            (_, true) => DType::I64,
            (1, false) => DType::U8,
            (2, false) => DType::U16,
            (4, false) => DType::U32,
            (_, false) => DType::U64,
        },
        _ => return None,
    })
}

/// Returns the dtype of a number, for a parameter of which only the size is known.
fn guessed(object: Borrowed<'_, '_, PyAny>, size: Option<usize>) -> PyResult<DType> {
    let is_float = object.is_instance_of::<PyFloat>();
    Ok(match (size, is_float) {
        (Some(1), false) if object.is_instance_of::<PyBool>() => DType::BOOL,
        (Some(1), false) => DType::I8,
        (Some(2), false) => DType::I16,
        (Some(4), false) => DType::I32,
        (Some(8), false) => DType::I64,
        (Some(4), true) => DType::F32,
        (Some(8), true) => DType::F64,
        _ => {
            return Err(unsuitable(
                "how the kernel takes this number isn't known; pass one of NumPy's, such as numpy.float32(2)".to_owned(),
            ));
        }
    })
}
