//! The class as a buffer, for `memoryview` and everything that takes one.

use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
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

/// How many elements a buffer may have of which several are at one place.
const MOST_REPEATED: u64 = 1 << 32;

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
        not_exchangeable((
            Kind::DType,
            format!("buffers have no elements of {}", tensor.dtype()),
        ))
    })?;
    if !tensor.device().is_host_accessible() {
        let device = tensor.device();
        return Err(not_exchangeable((
            Kind::Device,
            format!("memory on {device} can't be a buffer"),
        )));
    }
    cuda::settled(tensor)?;
    if tensor.rank() > MAX_RANK {
        return Err(not_exchangeable((
            Kind::Rank,
            "a buffer has at most 64 dimensions",
        )));
    }
    if flags & ffi::PyBUF_WRITABLE != 0 && tensor.is_read_only() {
        let error = Incompatibility::new(Kind::ReadOnly, "read-only", "writable");
        return Err(not_exchangeable(
            error.with_reason("the tensor is read-only"),
        ));
    }
    let wants = |flag: c_int| flags & flag == flag;
    let rank = tensor.rank();
    let (is_c, is_f) = (
        tensor.layout().is_contiguous(),
        tensor.layout().is_f_contiguous(),
    );
    // Each flag is checked by itself: a request for both orders needs a layout that is both.
    let fits = (is_c || !wants(ffi::PyBUF_C_CONTIGUOUS) && wants(ffi::PyBUF_STRIDES))
        && (is_f || !wants(ffi::PyBUF_F_CONTIGUOUS))
        && (is_c || is_f || !wants(ffi::PyBUF_ANY_CONTIGUOUS));
    if !fits {
        return Err(not_exchangeable(
            Incompatibility::from_reason(
                Kind::Layout,
                "the tensor's layout isn't as requested of the buffer",
            )
            .with_remedy("copy it first"),
        ));
    }
    let len = length(tensor)?;
    let item = tensor.dtype().item_bits() as isize / 8;
    let sizes = tensor.shape().iter().map(|size| *size as isize);
    // A stride that leads to no element may be any number.
    let in_bytes = |stride: &isize| stride.checked_mul(item).unwrap_or(item);
    let strides = tensor.strides().iter().map(in_bytes);
    let mut numbers = Numbers(sizes.chain(strides).collect());
    let first = numbers.0.as_mut_ptr();
    // SAFETY: `view` is Python's struct to be filled; the numbers stay until the buffer is
    // released.
    unsafe {
        (*view).buf = tensor.data_ptr().cast_mut().cast::<c_void>();
        (*view).len = len;
        (*view).itemsize = item;
        (*view).readonly = tensor.is_read_only().into();
        // As NumPy does: a request without a shape gets none.
        (*view).ndim = if wants(ffi::PyBUF_ND) {
            rank as c_int
        } else {
            0
        };
        (*view).format = if wants(ffi::PyBUF_FORMAT) {
            format.as_ptr().cast_mut()
        } else {
            ptr::null_mut()
        };
        (*view).shape = if wants(ffi::PyBUF_ND) && rank > 0 {
            first
        } else {
            ptr::null_mut()
        };
        (*view).strides = if wants(ffi::PyBUF_STRIDES) && rank > 0 {
            first.add(rank)
        } else {
            ptr::null_mut()
        };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = Box::into_raw(Box::new(numbers)).cast();
    }
    Ok(())
}

/// Returns the length of a buffer in bytes: as if its elements lay one after another.
///
/// # Errors
///
/// A `BufferError` for a broadcast tensor with more elements than a buffer may have. Python
/// compares and copies buffers element by element, and nothing can interrupt that.
fn length(tensor: &Tensor) -> PyResult<isize> {
    let bytes = tensor.nbytes();
    let is_repeated = bytes > tensor.storage().nbytes();
    match isize::try_from(bytes) {
        Ok(len) if !is_repeated || tensor.len() as u64 <= MOST_REPEATED => Ok(len),
        _ => Err(not_exchangeable((
            Kind::Shape,
            format!(
                "expected a buffer of at most {MOST_REPEATED} elements where elements share memory, got a broadcast tensor of \
             {}; pass a part of it, or hand it over by DLPack (numpy.from_dlpack)",
                tensor.len()
            ),
        ))),
    }
}

/// Releases what a description points to.
///
/// # Safety
///
/// [`lend`] filled it, and it is released once.
pub(super) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `lend` put a box of `Numbers` there, which is released once.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Numbers>()) });
}

/// Returns an element type as Python's `struct` writes it.
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
