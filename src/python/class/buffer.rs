//! The class as a buffer, for `memoryview` and everything that takes one.

use crate::dtype::DType;
use crate::python::cuda;
use crate::python::error::not_exchangeable;
use crate::tensor::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_int, c_long, c_void};
use std::ptr;

/// The sizes and strides of a buffer, which it points to.
struct Numbers(Box<[isize]>);

/// `PyBUF_MAX_NDIM`
const MAX_RANK: usize = 64;

/// Fills a buffer's description, but for the object that it is of.
///
/// # Safety
///
/// `view` is for a new description, which [`release`] is called with, and the tensor stays as long.
pub(super) unsafe fn lend(
    tensor: &Tensor,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let format = format(tensor.dtype()).ok_or_else(|| {
        not_exchangeable(format!("buffers have no elements of {}", tensor.dtype()))
    })?;
    if !tensor.device().is_host_accessible() {
        let device = tensor.device();
        return Err(not_exchangeable(format!("memory on {device} is no buffer")));
    }
    cuda::settled(tensor)?;
    if tensor.rank() > MAX_RANK {
        return Err(not_exchangeable("a buffer has at most 64 dimensions"));
    }
    if flags & ffi::PyBUF_WRITABLE != 0 && tensor.is_read_only() {
        return Err(not_exchangeable("the tensor is read-only"));
    }
    let wants = |flag: c_int| flags & flag == flag;
    let (layout, rank) = (tensor.layout(), tensor.rank());
    let fits = if wants(ffi::PyBUF_C_CONTIGUOUS) || !wants(ffi::PyBUF_STRIDES) {
        layout.is_contiguous()
    } else if wants(ffi::PyBUF_F_CONTIGUOUS) {
        layout.is_f_contiguous()
    } else if wants(ffi::PyBUF_ANY_CONTIGUOUS) {
        layout.is_contiguous() || layout.is_f_contiguous()
    } else {
        true
    };
    if !fits {
        return Err(not_exchangeable(
            "the tensor's elements don't lie as the buffer was asked for; copy it first",
        ));
    }
    let item = tensor.dtype().item_bits() as isize / 8;
    let sizes = tensor.shape().iter().map(|size| *size as isize);
    let strides = tensor.strides().iter().map(|stride| stride * item);
    let mut numbers = Numbers(sizes.chain(strides).collect());
    let first = numbers.0.as_mut_ptr();
    // SAFETY: the caller's promise; the numbers stay until the buffer is released.
    unsafe {
        (*view).buf = tensor.data_ptr().cast_mut().cast::<c_void>();
        (*view).len = tensor.bytes() as isize;
        (*view).itemsize = item;
        (*view).readonly = tensor.is_read_only().into();
        (*view).ndim = rank as c_int;
        (*view).format = if wants(ffi::PyBUF_FORMAT) {
            format.as_ptr().cast_mut()
        } else {
            ptr::null_mut()
        };
        (*view).shape = if wants(ffi::PyBUF_ND) {
            first
        } else {
            ptr::null_mut()
        };
        (*view).strides = if wants(ffi::PyBUF_STRIDES) {
            first.add(rank)
        } else {
            ptr::null_mut()
        };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = Box::into_raw(Box::new(numbers)).cast();
    }
    Ok(())
}

/// Releases what a description points to.
///
/// # Safety
///
/// [`lend`] filled it, and it is released once.
pub(super) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Numbers>()) });
}

/// An element type as Python's `struct` writes it.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::BOOL => c"?",
        DType::I8 => c"b",
        DType::U8 => c"B",
        DType::I16 => c"h",
        DType::U16 => c"H",
        DType::I32 => c"i",
        DType::U32 => c"I",
        // As NumPy writes them.
        DType::I64 if size_of::<c_long>() == 8 => c"l",
        DType::U64 if size_of::<c_long>() == 8 => c"L",
        DType::I64 => c"q",
        DType::U64 => c"Q",
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::C64 => c"Zf",
        DType::C128 => c"Zd",
        _ => return None,
    })
}
