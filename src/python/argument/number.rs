//! [`OrNumber`]: a tensor, or a Python number in its place.

use super::In;
use super::borrowed_arg::BorrowedArg;
use crate::dtype::{DType, Element};
use crate::python::borrows::Aligned;
use crate::python::error::{Refused, no_such_number};
use crate::python::import::check_borrowed;
use half::{bf16, f16};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};
use std::marker::PhantomData;

/// A tensor as [`In`] takes it, or a Python number, which is then a tensor of rank 0.
///
/// A number must be one that the element type can hold: a number is refused that is out of its
/// range, a `float` where integers are wanted, and a `complex` where real numbers are. A `float`
/// becomes the nearest number that there is.
///
/// ```no_run
/// use dlbridge::python::{OrNumber, Out};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn fill(mut out: Out<'_, f32>, value: OrNumber<'_, f32>) -> PyResult<()> {
///     value.check_shape(&[])?;
///     out.view_mut().fill(value.view()[[]]);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct OrNumber<'py, T: Element>(In<'py, T>);

impl<'py, T: Element> std::ops::Deref for OrNumber<'py, T> {
    type Target = In<'py, T>;

    fn deref(&self) -> &In<'py, T> {
        &self.0
    }
}

impl<'py, T: Element> FromPyObject<'_, 'py> for OrNumber<'py, T> {
    type Error = Refused;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::TENSOR_LIKE_OR_NUMBER;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self, Refused> {
        let is_number = object.is_instance_of::<PyInt>()
            || object.is_instance_of::<PyFloat>()
            || object.is_instance_of::<PyComplex>();
        if !is_number {
            return Ok(Self(In::extract(object)?));
        }
        let bytes = bytes_of(object, T::DTYPE)?.ok_or_else(|| no_such_number(object, T::DTYPE))?;
        let is_plain = object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyFloat>()
            || object.is_exact_instance_of::<PyBool>()
            || object.is_exact_instance_of::<PyComplex>();
        if !is_plain {
            // Its methods may be Python code.
            check_borrowed(object.py())?;
        }
        Ok(Self(In(BorrowedArg::number(bytes, T::DTYPE)?, PhantomData)))
    }
}

/// Returns a Python number's bytes; `None` if the dtype can't represent it.
pub(in crate::python) fn bytes_of(
    object: Borrowed<'_, '_, PyAny>,
    dtype: DType,
) -> PyResult<Option<Aligned>> {
    let is_integer = object.is_instance_of::<PyInt>();
    let is_real = is_integer || object.is_instance_of::<PyFloat>();
    macro_rules! integers {
        ($($DTYPE:ident => $Int:ty),*) => {
            match dtype {
                $(DType::$DTYPE => {
                    let value: Option<$Int> = object.extract().ok().filter(|_| is_integer);
                    return Ok(value.map(|value| Aligned::from_bytes(&value.to_ne_bytes())));
                })*
                _ => {}
            }
        };
    }
    integers! {
        I8 => i8, I16 => i16, I32 => i32, I64 => i64,
        U8 => u8, U16 => u16, U32 => u32, U64 => u64
    }
    if dtype == DType::BOOL {
        let value = object.cast::<PyBool>().ok();
        return Ok(value.map(|value| Aligned::from_bytes(&[u8::from(value.is_true())])));
    }
    let is_complex = matches!(dtype, DType::C32 | DType::C64 | DType::C128);
    if !is_real && !is_complex {
        return Ok(None);
    }
    let (re, im): (f64, f64) = if let Ok(complex) = object.cast::<PyComplex>() {
        (
            complex.getattr("real")?.extract()?,
            complex.getattr("imag")?.extract()?,
        )
    } else {
        match object.extract() {
            Ok(re) => (re, 0.0),
            Err(_) => return Ok(None), // An integer beyond all floats.
        }
    };
    let Some(mut bytes) = float_bytes(re, dtype) else {
        return Ok(None);
    };
    if is_complex {
        let Some(im) = float_bytes(im, dtype) else {
            return Ok(None);
        };
        bytes.extend(im);
    }
    Ok(Some(Aligned::from_bytes(&bytes)))
}

/// Returns the nearest number that the dtype (or each part of a complex one) can represent; `None`
/// for a number out of its range, which doesn't become infinity.
fn float_bytes(value: f64, dtype: DType) -> Option<Vec<u8>> {
    let (bytes, nearest) = match dtype {
        DType::F16 | DType::C32 => {
            let nearest = f16::from_f64(value);
            (nearest.to_ne_bytes().to_vec(), nearest.to_f64())
        }
        DType::BF16 => {
            let nearest = bf16::from_f64(value);
            (nearest.to_ne_bytes().to_vec(), nearest.to_f64())
        }
        DType::F32 | DType::C64 => {
            let nearest = value as f32;
            (nearest.to_ne_bytes().to_vec(), nearest.into())
        }
        DType::F64 | DType::C128 => (value.to_ne_bytes().to_vec(), value),
        _ => return None,
    };
    (nearest.is_finite() || !value.is_finite()).then_some(bytes)
}
