//! New arrays: the elements, their layout and the base object that keeps them are one
//! allocation.

use super::array::{Array, IS_WRITABLE, MAX_RANK};
use super::interface::interface;
use super::keeper::kind;
use super::make::{element_type, number_of};
use crate::device::Device;
use crate::dlpack::python::FoundOnce;
use crate::dtype::DType;
use crate::error::Error;
use crate::kernel::{Failure, Operand};
use crate::layout::Layout;
use crate::storage::{Contents, HostBuffer};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::c_int;
use std::ptr;

/// An array that no other code has yet, in memory that is aligned as all of ours is.
pub(in crate::python) struct FreshArray<'py> {
    array: Bound<'py, PyAny>,
    /// In the array's base object.
    block: *mut Block,
    dtype: DType,
}

/// The base object of an array, at the beginning of the buffer that has the elements.
#[repr(C)]
struct Block {
    head: ffi::PyObject,
    layout: Layout,
    first: *mut u8,
    /// The buffer that all of this lies in.
    buffer: HostBuffer,
}

impl<'py> FreshArray<'py> {
    /// Creates an array; `None` for dtypes and shapes that NumPy hasn't of its own.
    ///
    /// # Errors
    ///
    /// When there is not enough memory, or the shape can't be a tensor's.
    #[inline]
    pub(in crate::python) fn new(
        py: Python<'py>,
        shape: &[usize],
        dtype: DType,
        contents: Contents,
    ) -> Result<Option<Self>, Failure> {
        let (Some(number), Some(nbytes)) = (number_of(dtype), nbytes(shape, dtype)) else {
            return Ok(None);
        };
        if shape.len() > MAX_RANK {
            return Ok(None);
        }
        let interface = interface(py)?;
        let element_type = element_type(py, interface, number)?;
        let base = base(py, nbytes, contents)?;
        let block = base.as_ptr().cast::<Block>();
        // SAFETY: `base` made the base object, which no other code has.
        let (layout, first) = unsafe { (&mut (*block).layout, (*block).first) };
        layout.become_contiguous(shape).map_err(Error::from)?;
        // SAFETY: the layout has as many sizes as the rank says, which NumPy copies. It works the
        // strides out itself; `nbytes` bytes are at `first`, which the base object keeps. The
        // element type's reference is given away.
        let array = unsafe {
            let array = (interface.new_from_descr)(
                interface.array_type,
                element_type.into_ptr(),
                shape.len() as c_int,
                layout.shape().as_ptr().cast_mut().cast(),
                ptr::null_mut(),
                first.cast(),
                IS_WRITABLE,
                ptr::null_mut(),
            );
            Bound::from_owned_ptr_or_err(py, array)?
        };
        // What `PyArray_SetBaseObject` does for an object that isn't an array.
        // SAFETY: a new array, which has no base yet, and a base whose reference is given away.
        unsafe { (*array.as_ptr().cast::<Array>()).base = base.into_ptr() };
        Ok(Some(Self {
            array,
            block,
            dtype,
        }))
    }

    /// Returns the array.
    #[inline]
    pub(in crate::python) fn into_object(self) -> Bound<'py, PyAny> {
        self.array
    }

    /// Borrows the array for writing.
    ///
    /// # Safety
    ///
    /// No other code has the array, and it is kept for as long as the operand is in use.
    #[inline]
    pub(in crate::python) unsafe fn operand<'a>(&self) -> Operand<'a> {
        // SAFETY: the array keeps the block for as long as the operand is in use, and its base
        // stays, as no other code has the array; so nothing changes the layout. It leads to what
        // is in the block.
        unsafe {
            let (layout, first) = (&(*self.block).layout, (*self.block).first);
            Operand::from_raw(first, layout.as_ref(), self.dtype, Device::CPU, false, true)
        }
    }
}

/// Returns how many bytes elements take; `None` where the number of either is too large.
#[inline]
fn nbytes(shape: &[usize], dtype: DType) -> Option<usize> {
    let len = |len: usize, size: &usize| len.checked_mul(*size);
    let nbytes = dtype.packed_bytes(shape.iter().try_fold(1, len)?)?;
    (nbytes <= isize::MAX as usize).then_some(nbytes)
}

/// Allocates memory, and a base object with the layout of a scalar.
#[inline]
fn base(py: Python<'_>, nbytes: usize, contents: Contents) -> Result<Bound<'_, PyAny>, Failure> {
    static KIND: FoundOnce<Py<PyType>> = FoundOnce::new();
    let make_kind = || kind(py, c"dlbridge.MemoryBlock", size_of::<Block>(), release);
    let kind = KIND.get_or_try_find(py, make_kind)?;
    let (buffer, block, first) = HostBuffer::with_header::<Block>(nbytes, contents)?;
    let block = block.as_ptr();
    // SAFETY: there is room for a block, which is written field by field, in place. The object is
    // new, and of a type whose objects are as large.
    unsafe {
        (&raw mut (*block).layout).write(Layout::scalar());
        (&raw mut (*block).first).write(first.as_ptr());
        (&raw mut (*block).buffer).write(buffer);
        let base = ffi::PyObject_Init(block.cast(), kind.as_ptr().cast());
        Ok(Bound::from_owned_ptr(py, base))
    }
}

/// # Safety
///
/// Python calls it once, for an object that [`base`] made.
unsafe extern "C" fn release(object: *mut ffi::PyObject) {
    let block = object.cast::<Block>();
    // SAFETY: Python calls this once, attached, for an object of which no reference is left.
    // `base` wrote the block, whose buffer is moved out of it before that is freed; the type has a
    // reference of the object's to give away.
    unsafe {
        let kind = ffi::Py_TYPE(object);
        (&raw mut (*block).layout).drop_in_place();
        drop((&raw const (*block).buffer).read());
        ffi::Py_DECREF(kind.cast());
    }
}
