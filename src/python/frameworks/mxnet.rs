//! MXNet: arrays without `__dlpack__`, but with methods that give capsules.

use super::constraints::{ANYTHING, Arranged, Needs};
use super::row_type::{CapsuleMethods, Export, Framework};
use crate::dlpack::python::intern;
use crate::dlpack::{DLDataType, DLTensor};
use crate::dtype::DType;
use crate::python::error::not_exchangeable;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pub(super) static ROW: Framework = Framework {
    cast: Some("x.astype(\"{}\")"),
    capsule_methods: Some(CapsuleMethods {
        is_tensor: is_array,
        ask,
        correct: meant,
        read_only: false,
    }),
    alike: Some(alike),
    ..Framework::new(
        "mxnet",
        "MXNet",
        &["mxnet"],
        Needs {
            has: has_dtype,
            has_padded: false,
            arranged: Arranged::RowMajor,
            writes_all: true,
            ..ANYTHING
        },
        Export::LegacyCapsule {
            // It looks at strides that say nothing.
            prepare: |tensor| tensor.reshape(tensor.shape()),
            import: from_dlpack,
        },
    )
};

fn has_dtype(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::U8 | DType::I8 | DType::I32 | DType::I64 | DType::F16 | DType::F32 | DType::F64
    )
}

/// Returns whether an object is one of MXNet's arrays.
///
/// # Errors
///
/// What looking up the array's methods raises.
#[cold]
fn is_array(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let method = intern!(object.py(), "to_dlpack_for_read");
    object.hasattr(method)
}

/// Returns an array of the older class as one of the newer class, where another array is of that.
/// It has the same memory.
#[cold]
fn alike<'py>(other: &Bound<'py, PyAny>, array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match other.get_type().is(array.get_type()) {
        true => Ok(array),
        false => array.call_method0(intern!(array.py(), "as_np_ndarray")),
    }
}

/// Returns a capsule of an array's memory, after the work on it is done, which MXNet does on
/// threads of its own; `None` for an object that isn't one of its arrays.
#[cold]
fn ask<'py>(
    object: Borrowed<'_, 'py, PyAny>,
    is_written: bool,
) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let py = object.py();
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

/// Returns what a descriptor of MXNet's means: it calls truth values unsigned integers of one bit,
/// and has one in each byte.
fn meant(descriptor: &DLTensor) -> DLTensor {
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

fn from_dlpack<'py>(
    py: Python<'py>,
    capsule: Bound<'py, PyCapsule>,
    _: DType,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "mxnet"))?
        .getattr(intern!(py, "nd"))?
        .call_method1(intern!(py, "from_dlpack"), (capsule,))
}
