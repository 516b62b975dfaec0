//! Construction of a NumPy array from a tensor.

use super::array::{Array, IS_WRITABLE, MAX_RANK};
use super::element_type::NUMBERED;
use super::extension::extension;
use super::interface::{Interface, interface};
use super::keeper::keep;
use crate::device::Device;
use crate::dtype::{DType, TypeCode};
use crate::error::Incompatibility;
use crate::python::error::fields_of;
use crate::tensor::Tensor;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// NumPy's element types by number, those that were requested, each with a reference that is kept.
static ELEMENT_TYPES: [AtomicPtr<ffi::PyObject>; NUMBERED.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; NUMBERED.len()];

/// An array that shares the tensor's memory, and keeps it. The host reaches the memory, and there
/// are no more dimensions than NumPy's arrays have.
///
/// # Errors
///
/// A `BufferError` for element types that NumPy hasn't, with `ml_dtypes` where that is installed.
pub(in crate::python) fn make(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let interface = interface(py)?;
    let dtype = tensor.dtype();
    let element_type = match number_of(dtype) {
        Some(number) => element_type(py, interface, number)?,
        None => extension(py, &tensor)?,
    };
    let rank = tensor.rank();
    let item = (dtype.step_bits(tensor.is_padded()) / 8) as isize;
    // NumPy works row-major strides out itself.
    let mut strides = Vec::new();
    if !tensor.layout().is_contiguous() {
        // A stride that leads to no element may be any number.
        let in_bytes = |stride: &isize| stride.checked_mul(item).unwrap_or(item);
        strides.extend(tensor.strides().iter().map(in_bytes));
    }
    let strides_or_null = if strides.is_empty() {
        ptr::null_mut()
    } else {
        strides.as_mut_ptr()
    };
    let flags = if tensor.is_read_only() {
        0
    } else {
        IS_WRITABLE
    };
    let sizes = tensor.shape().as_ptr().cast_mut().cast();
    let data = tensor.data_ptr().cast_mut().cast();
    // SAFETY: there are `rank` sizes and strides, which NumPy copies; the base object that is set
    // next keeps the memory. The element type's reference is given away.
    let array = unsafe {
        let array = (interface.new_from_descr)(
            interface.array_type,
            element_type.into_ptr(),
            rank as c_int,
            sizes,
            strides_or_null,
            data,
            flags,
            ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)?
    };
    let base = keep(py, tensor)?;
    // What `PyArray_SetBaseObject` does for an object that isn't an array.
    // SAFETY: a new array, which has no base yet, and a base whose reference is given away.
    unsafe { (*array.as_ptr().cast::<Array>()).base = base };
    Ok(array)
}

/// Returns NumPy's element type of a number, which it has.
#[inline]
pub(super) fn element_type<'py>(
    py: Python<'py>,
    interface: &Interface,
    number: c_int,
) -> PyResult<Bound<'py, PyAny>> {
    let known = &ELEMENT_TYPES[number as usize];
    let mut pointer = known.load(Ordering::Relaxed);
    // SAFETY: a number that NumPy has, of which it keeps the one element type.
    unsafe {
        if pointer.is_null() {
            pointer = (interface.descr_from_type)(number);
            known.store(pointer, Ordering::Relaxed);
        }
        Bound::from_borrowed_ptr_or_err(py, pointer)
    }
}

/// Why NumPy hasn't a tensor's element type, if that is so.
pub(in crate::python) fn lacks(
    py: Python<'_>,
    tensor: &Tensor,
) -> PyResult<Option<Incompatibility>> {
    if number_of(tensor.dtype()).is_some() {
        return Ok(None);
    }
    match extension(py, tensor) {
        Ok(_) => Ok(None),
        Err(error) if error.is_instance_of::<PyBufferError>(py) => Ok(Some(fields_of(py, &error))),
        Err(error) => Err(error),
    }
}

/// Returns whether NumPy surely has what a tensor is; of all others it is found out.
#[inline]
pub(in crate::python) fn surely_has(tensor: &Tensor) -> bool {
    tensor.device() == Device::CPU
        && number_of(tensor.dtype()).is_some()
        && tensor.rank() <= MAX_RANK
        && !tensor.is_padded()
}

/// Returns NumPy's type number of a dtype.
#[inline]
pub(super) fn number_of(dtype: DType) -> Option<c_int> {
    let number = NUMBERS
        .get(dtype.code() as usize)?
        .get(usize::from(dtype.bits() / 8))?;
    (*number >= 0 && dtype.lanes() == 1 && dtype.bits().is_multiple_of(8))
        .then_some(c_int::from(*number))
}

const WIDEST: usize = 16;

/// NumPy's numbers by code and width in bytes; of those with two on this machine, the first; -1
/// where there is none.
static NUMBERS: [[i8; WIDEST + 1]; TypeCode::ALL.len()] = {
    let mut numbers = [[-1; WIDEST + 1]; TypeCode::ALL.len()];
    let mut number = NUMBERED.len();
    while number > 0 {
        number -= 1;
        if let Some(dtype) = NUMBERED[number] {
            numbers[dtype.code() as usize][dtype.bits() as usize / 8] = number as i8;
        }
    }
    numbers
};
