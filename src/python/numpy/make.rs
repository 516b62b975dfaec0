//! A tensor becomes a NumPy array.

use crate::dlpack::contain_panics;
use crate::dlpack::python::keeping_exception;
use crate::dtype::DType;
use crate::python::error::not_exchangeable;
use crate::python::give::Misfit;
use crate::tensor::Tensor;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;
use pyo3::{ffi, intern};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};

/// `NPY_ARRAY_WRITEABLE`
const WRITABLE: c_int = super::IS_WRITABLE;

type NewFromDescr = unsafe extern "C" fn(
    *mut ffi::PyTypeObject,
    *mut ffi::PyObject,
    c_int,
    *mut isize,
    *mut isize,
    *mut c_void,
    c_int,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;
type SetBaseObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> c_int;
type DescrFromType = unsafe extern "C" fn(c_int) -> *mut ffi::PyObject;

/// The functions of NumPy's C interface that are used. Their places in it never change.
#[derive(Clone, Copy)]
struct Interface {
    array_type: *mut ffi::PyTypeObject,
    descr_from_type: DescrFromType,
    new_from_descr: NewFromDescr,
    set_base_object: SetBaseObject,
}

// SAFETY: addresses of what stays for as long as the process runs.
unsafe impl Send for Interface {}
// SAFETY: as above.
unsafe impl Sync for Interface {}

const ARRAY_TYPE: usize = 2;
const DESCR_FROM_TYPE: usize = 45;
const NEW_FROM_DESCR: usize = 94;
const SET_BASE_OBJECT: usize = 282;

fn interface(py: Python<'_>) -> PyResult<&'static Interface> {
    static INTERFACE: PyOnceLock<Interface> = PyOnceLock::new();
    INTERFACE.get_or_try_init(py, || {
        // NumPy 2 moved the module.
        let module = py
            .import(intern!(py, "numpy._core._multiarray_umath"))
            .or_else(|_| py.import(intern!(py, "numpy.core._multiarray_umath")))?;
        let capsule = module.getattr(intern!(py, "_ARRAY_API"))?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.as_ptr();
        let table = table.cast::<*mut c_void>();
        // SAFETY: the capsule holds the table of NumPy's C interface, whose places are fixed and
        // have these types.
        unsafe {
            Ok(Interface {
                array_type: (*table.add(ARRAY_TYPE)).cast(),
                descr_from_type: std::mem::transmute::<*mut c_void, DescrFromType>(
                    *table.add(DESCR_FROM_TYPE),
                ),
                new_from_descr: std::mem::transmute::<*mut c_void, NewFromDescr>(
                    *table.add(NEW_FROM_DESCR),
                ),
                set_base_object: std::mem::transmute::<*mut c_void, SetBaseObject>(
                    *table.add(SET_BASE_OBJECT),
                ),
            })
        }
    })
}

/// What keeps an array's memory, as its `base`: a capsule, which is made in less time than an object
/// of a class.
fn keeper(py: Python<'_>, tensor: Tensor) -> PyResult<*mut ffi::PyObject> {
    let pointer = tensor.into_raw();
    // SAFETY: a static name, and a destructor for what is behind the pointer.
    let capsule = unsafe { ffi::PyCapsule_New(pointer.as_ptr(), KEEPER.as_ptr(), Some(release)) };
    if capsule.is_null() {
        // SAFETY: it is taken back where it was given.
        drop(unsafe { Tensor::from_raw(pointer) });
        return Err(PyErr::fetch(py));
    }
    Ok(capsule)
}

const KEEPER: &CStr = c"dlbridge.memory";

/// # Safety
///
/// Python calls it once, for a capsule that [`keeper`] made.
unsafe extern "C" fn release(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is there, and has this name unless somebody gave it another, who then
    // answers for what is in it. Whoever calls it is attached.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, KEEPER.as_ptr()) == 0 {
            return;
        }
        let pointer = ffi::PyCapsule_GetPointer(capsule, KEEPER.as_ptr());
        if let Some(pointer) = NonNull::new(pointer) {
            let tensor = Tensor::from_raw(pointer);
            keeping_exception(Python::assume_attached(), || {
                contain_panics(|| drop(tensor))
            });
        }
    }
}

/// An array that shares the tensor's memory, and keeps it. The host reaches the memory, and there are
/// no more dimensions than NumPy's arrays have.
///
/// # Errors
///
/// A `BufferError` for element types that NumPy hasn't, with `ml_dtypes` where that is installed.
pub(in crate::python) fn make(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let interface = interface(py)?;
    let dtype = tensor.dtype();
    let element_type = match number_of(dtype) {
        // SAFETY: a number that NumPy has.
        Some(number) => unsafe {
            let pointer = (interface.descr_from_type)(number);
            Bound::from_owned_ptr_or_err(py, pointer)?
        },
        None => extension(py, &tensor)?,
    };
    let rank = tensor.rank();
    let item = (dtype.step_bits(tensor.is_padded()) / 8) as isize;
    // NumPy works row-major strides out itself.
    let mut strides = Vec::new();
    if !tensor.layout().is_contiguous() {
        strides.extend(tensor.strides().iter().map(|stride| stride * item));
    }
    let strides_or_null = if strides.is_empty() {
        ptr::null_mut()
    } else {
        strides.as_mut_ptr()
    };
    let flags = if tensor.is_read_only() { 0 } else { WRITABLE };
    let sizes = tensor.shape().as_ptr().cast_mut().cast();
    let data = tensor.data_ptr().cast_mut().cast();
    // SAFETY: as many sizes and strides as the rank, which are copied; the memory is kept by the
    // base object that is set next. The element type's reference is given away.
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
    let base = keeper(py, tensor)?;
    // SAFETY: a new array, and a base object whose reference is given away.
    if unsafe { (interface.set_base_object)(array.as_ptr(), base) } != 0 {
        return Err(PyErr::fetch(py));
    }
    Ok(array)
}

/// Why NumPy hasn't a tensor's element type, if that is so.
pub(in crate::python) fn lacks(py: Python<'_>, tensor: &Tensor) -> PyResult<Option<Misfit>> {
    if number_of(tensor.dtype()).is_some() {
        return Ok(None);
    }
    match extension(py, tensor) {
        Ok(_) => Ok(None),
        Err(error) if error.is_instance_of::<PyBufferError>(py) => {
            Ok(Some(Misfit::for_good(error.value(py).to_string())))
        }
        Err(error) => Err(error),
    }
}

/// NumPy's number of an element type.
fn number_of(dtype: DType) -> Option<c_int> {
    Some(match dtype {
        DType::BOOL => 0,
        DType::I8 => 1,
        DType::U8 => 2,
        DType::I16 => 3,
        DType::U16 => 4,
        DType::F32 => 11,
        DType::F64 => 12,
        DType::C64 => 14,
        DType::C128 => 15,
        DType::F16 => 23,
        // Of those with two numbers on this machine, the first.
        _ => super::NUMBERED.iter().position(|d| *d == Some(dtype))? as c_int,
    })
}

/// The element type of a tensor from the package `ml_dtypes`.
#[cold]
fn extension<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let dtype = tensor.dtype();
    let no = || not_exchangeable(format!("NumPy has no {dtype}"));
    // Its sub-byte elements are padded.
    if dtype.lanes() != 1 || dtype.is_sub_byte() != tensor.is_padded() {
        return Err(no());
    }
    let Ok(module) = py.import(intern!(py, "ml_dtypes")) else {
        return Err(not_exchangeable(format!(
            "NumPy has no {dtype} without the package ml_dtypes"
        )));
    };
    let Ok(scalar) = module.getattr(dtype.to_string().as_str()) else {
        return Err(no());
    };
    py.import(intern!(py, "numpy"))?
        .getattr(intern!(py, "dtype"))?
        .call1((scalar,))
}
