//! NumPy: arrays, read by their fields.
//!
//! The struct of an array is the same in NumPy 1 and 2, and part of its C interface. That of an
//! element type differs behind its number, and what is read here comes before.

mod array;
mod element_type;
mod extension;
#[cfg(feature = "kernels")]
mod fresh;
mod interface;
mod keeper;
mod make;

use array::uneven;
pub(in crate::python) use array::{
    MAX_RANK, Numbers, array_of, fields, is_array, is_array_type, is_special_scalar, remember,
};
#[cfg(feature = "kernels")]
pub(in crate::python) use fresh::FreshArray;
pub(in crate::python) use make::make;
use make::{lacks, surely_has};

#[cfg(feature = "cuda")]
use super::common::root_module;
use super::constraints::{ANYTHING, Needs};
use super::row_type::{Export, Framework};

use crate::device::Device;
use crate::dlpack::python::intern;
use crate::layout::Layout;
use crate::python::borrows::Entry;
use crate::python::error::{Refused, not_importable};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ptr;

pub(super) static ROW: Framework = Framework {
    cast: Some("x.astype(\"{}\")"),
    surely_has,
    more: Some(lacks),
    ..Framework::new(
        "numpy",
        "NumPy",
        &["numpy"],
        Needs {
            reaches: Device::is_host_accessible,
            most_dimensions: MAX_RANK,
            ..ANYTHING
        },
        Export::Tensor(make),
    )
};

/// Returns the `numpy.dtype` of one of NumPy's scalar classes; `None` for other objects.
///
/// # Errors
///
/// Whatever NumPy raises for a class that has no element type.
pub(in crate::python) fn dtype_of_scalar_class<'py>(
    object: Borrowed<'_, 'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !object.is_instance_of::<PyType>()
        || !object.getattr(intern!(py, "__module__"))?.eq("numpy")?
    {
        return Ok(None);
    }
    let dtype = py
        .import(intern!(py, "numpy"))?
        .getattr(intern!(py, "dtype"))?;
    dtype.call1((object,)).map(Some)
}

/// Returns whether an object is one of NumPy's, and not an array.
#[cfg(feature = "cuda")]
pub(in crate::python) fn is_scalar(object: Borrowed<'_, '_, PyAny>) -> bool {
    !is_array(object) && root_module(&object.get_type()) == "numpy"
}

/// Borrows an array in the usual case: of elements one after another.
///
/// `false`, and a blank entry, for any other.
///
/// # Safety
///
/// The same as for [`borrow`].
#[inline(always)]
pub(in crate::python) unsafe fn borrow_usual(
    object: Borrowed<'_, '_, PyAny>,
    entry: &mut Entry,
) -> bool {
    // SAFETY: the object is a `numpy.ndarray`, which stays for as long as the entry is in use.
    let array = unsafe { fields(object) };
    // SAFETY: an array has an element type.
    let Some(dtype) = (unsafe { &*array.element_type }).usual() else {
        return false;
    };
    if !array.is_row_major() {
        return false;
    }
    // SAFETY: an array has as many sizes as dimensions.
    let is_arranged = unsafe { entry.arrange(array.rank as usize, array.sizes, ptr::null()) };
    if !is_arranged || !entry.place(array.data, dtype) {
        return false;
    }
    entry.read_only = !array.is_writable();
    true
}

/// Borrows an array: fills an entry with its description.
///
/// # Safety
///
/// The object is a `numpy.ndarray`, which stays for as long as the entry is in use.
#[inline]
pub(in crate::python) unsafe fn borrow(
    object: Borrowed<'_, '_, PyAny>,
    entry: &mut Entry,
) -> Result<(), Refused> {
    // SAFETY: the object is a `numpy.ndarray`, which stays for as long as the entry is in use.
    let array = unsafe { fields(object) };
    let (dtype, padded) = array.dtype(object.py())?;
    let is_row_major = array.is_row_major();
    let item = (dtype.step_bits(padded) / 8) as isize;
    let is_same = |layout: &Layout| array.has_layout(layout, item);
    if !padded && entry.place_as_before(array.data, dtype, is_same) {
        entry.read_only = !array.is_writable();
        return Ok(());
    }
    let mut is_uneven = false;
    entry.become_scalar();
    let outcome = entry.layout.rebuild(array.rank as usize, |axis| {
        // SAFETY: an array has `rank` sizes and strides; NumPy's sizes aren't negative.
        let (size, stride) = unsafe { (*array.sizes.add(axis), *array.strides.add(axis)) };
        if is_row_major {
            return Ok((size as usize, None));
        }
        is_uneven |= size > 1 && stride % item != 0;
        Ok((size as usize, Some(stride / item)))
    });
    if let Err(error) = outcome {
        return Err(not_importable(error.into()).into());
    }
    let layout = entry.layout.as_ref();
    if is_uneven && !layout.is_empty() {
        return Err(uneven(item).into());
    }
    let first = array.data.addr();
    let span = match layout.check_memory(dtype, padded, first, 0, true) {
        Ok(span) => span,
        Err(error) => return Err(not_importable(error.into()).into()),
    };
    entry.first = array.data;
    entry.bytes = first.wrapping_add_signed(span.start)..first.wrapping_add_signed(span.end);
    entry.dtype = dtype;
    entry.device = Device::CPU;
    entry.padded = padded;
    entry.read_only = !array.is_writable();
    entry.keep_strided();
    Ok(())
}
