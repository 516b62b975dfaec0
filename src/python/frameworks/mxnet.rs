//! MXNet's arrays, which have no `__dlpack__`, but methods that give capsules.

use crate::dlpack::python::Offer;
use crate::dlpack::{Abi, DLDataType, DLTensor, Flags, Legacy, Managed};
use crate::dtype::DType;
use crate::interchange::Described;
use crate::layout::Layout;
use crate::python::error::{not_exchangeable, not_importable};
use crate::python::import::type_cache::root_module;
use crate::storage::Owner;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{Borrowed, intern};

/// Whether an object is one of MXNet's arrays.
///
/// # Errors
///
/// What looking up the array's methods raises.
#[cold]
pub(in crate::python) fn is_array(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let method = intern!(object.py(), "to_dlpack_for_read");
    Ok(root_module(&object.get_type()) == "mxnet" && object.hasattr(method)?)
}

/// An array of the older class as one of the newer class, where another array is of that. It has the
/// same memory.
#[cold]
pub(in crate::python) fn alike<'py>(
    other: &Bound<'py, PyAny>,
    array: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match other.get_type().is(array.get_type()) {
        true => Ok(array),
        false => array.call_method0(intern!(array.py(), "as_np_ndarray")),
    }
}

/// A capsule of an array's memory, after the work on it is done, which MXNet does on threads of its
/// own; `None` for an object that isn't one of its arrays.
#[cold]
pub(in crate::python) fn ask<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    is_written: bool,
) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let py = object.py();
    if root_module(&object.get_type()) != "mxnet" {
        return Ok(None);
    }
    let method = if is_written {
        intern!(py, "to_dlpack_for_write")
    } else {
        intern!(py, "to_dlpack_for_read")
    };
    let Some(method) = object.getattr_opt(method)? else {
        return Ok(None);
    };
    // It would give the elements that are there as if they were all of them.
    let kind = object.getattr(intern!(py, "stype"))?;
    if !kind.eq(intern!(py, "default"))? {
        return Err(not_exchangeable(format!(
            "the array is sparse ({kind}), so its elements aren't one piece of memory; \
             pass array.tostype(\"default\")"
        )));
    }
    Ok(Some(method.call0()?.cast_into()?))
}

/// What a descriptor of MXNet's means: it calls truth values unsigned integers of one bit, and has
/// one in each byte.
pub(in crate::python) fn meant(descriptor: &DLTensor) -> DLTensor {
    let mut descriptor = *descriptor;
    let one_bit = DLDataType {
        bits: 1,
        ..DType::U8.into()
    };
    if descriptor.dtype == one_bit {
        descriptor.dtype = DType::BOOL.into();
    }
    descriptor
}

/// Takes the tensor in a capsule of MXNet's.
pub(in crate::python) fn take(capsule: Borrowed<'_, '_, PyCapsule>) -> PyResult<Tensor> {
    let check = |managed: &Legacy| {
        let mut layout = Layout::SCALAR;
        let descriptor = meant(managed.descriptor());
        // SAFETY: MXNet's promise, which is DLPack's but for the element type.
        let described = unsafe { Described::read(&descriptor, Flags::empty(), &mut layout) };
        described.map(|_| ()).map_err(not_importable)
    };
    // SAFETY: it was just made by MXNet.
    let managed: Managed<Legacy> = unsafe { Offer::take(capsule, check) }?;
    let descriptor = meant(managed.descriptor());
    // SAFETY: the managed tensor keeps the memory that it describes.
    unsafe { Tensor::adopt(&descriptor, Flags::empty(), Owner::small(managed)) }
        .map_err(not_importable)
}
