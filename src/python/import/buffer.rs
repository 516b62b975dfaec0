//! The buffer protocol, for what shares its memory that way.

use crate::device::Device;
use crate::dlpack::python::foreign::hang_on_unwind;
use crate::dlpack::python::keeping_exception;
use crate::dlpack::{DLTensor, Flags};
use crate::dtype::DType;
use crate::error::IncompatibilityKind as Kind;
use crate::python::attach;
use crate::python::error::not_exchangeable;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi};
use std::ffi::{CStr, c_int};
use std::hint::black_box;
use std::mem::{MaybeUninit, transmute};
use std::ptr;

/// `PyBUF_MAX_NDIM`
const MAX_RANK: usize = 64;

/// Room for the strides that a buffer's descriptor points to.
pub(in crate::python) struct Strides([MaybeUninit<i64>; MAX_RANK]);

impl Strides {
    #[inline]
    pub(in crate::python) fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; MAX_RANK])
    }
}

/// Returns whether objects of a type have the buffer protocol.
pub(in crate::python) fn has_buffer(kind: &Bound<'_, PyType>) -> bool {
    // SAFETY: a type, to which there is a reference.
    !unsafe { ffi::PyType_GetSlot(kind.as_type_ptr(), ffi::Py_bf_getbuffer) }.is_null()
}

/// A buffer that an object lent; released when dropped.
pub(in crate::python) struct Buffer(ffi::Py_buffer);

// SAFETY: a buffer may be released by any thread that is attached, which dropping makes sure of.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Borrows an object's buffer. It stays where it is, as some point into themselves.
    pub(in crate::python) fn from_object(object: Borrowed<'_, '_, PyAny>) -> PyResult<Box<Self>> {
        let mut room = Box::<Self>::new(Self(
            // SAFETY: a struct of pointers and numbers, for all of which 0 is a value.
            unsafe { MaybeUninit::zeroed().assume_init() },
        ));
        // The answer says whether it may be written.
        let flags = ffi::PyBUF_RECORDS_RO;
        type Get =
            unsafe extern "C-unwind" fn(*mut ffi::PyObject, *mut ffi::Py_buffer, c_int) -> c_int;
        type Declared =
            unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::Py_buffer, c_int) -> c_int;
        let get: Declared = ffi::PyObject_GetBuffer;
        // SAFETY: the types differ only in whether unwinding is expected, which the compiler
        // mustn't know better.
        let get = unsafe { transmute::<Declared, Get>(black_box(get)) };
        // SAFETY: an object, and room for the answer.
        if unsafe { hang_on_unwind(|| get(object.as_ptr(), &mut room.0, flags)) } != 0 {
            return Err(PyErr::fetch(object.py()));
        }
        Ok(room)
    }

    pub(in crate::python) fn is_read_only(&self) -> bool {
        self.0.readonly != 0
    }

    /// Returns what the buffer is as a tensor. Strides, in elements, are put into `strides`.
    pub(in crate::python) fn describe(&self, strides: &mut Strides) -> PyResult<(DLTensor, Flags)> {
        let Self(buffer) = self;
        let format = if buffer.format.is_null() {
            c"B"
        } else {
            // SAFETY: a C string, which the buffer keeps.
            unsafe { CStr::from_ptr(buffer.format) }
        };
        let size = buffer.itemsize;
        let dtype = element_type(format.to_bytes(), size);
        let Some(dtype) = dtype else {
            return Err(not_exchangeable((
                Kind::DType,
                format!("buffer format {format:?} with itemsize {size} has no DLPack equivalent"),
            )));
        };
        let rank = usize::try_from(buffer.ndim).unwrap_or(usize::MAX);
        if rank > MAX_RANK {
            return Err(not_exchangeable((
                Kind::Rank,
                format!(
                    "expected a buffer of at most {MAX_RANK} dimensions, got one of {}",
                    buffer.ndim
                ),
            )));
        }
        let is_flat = rank > 0 && buffer.shape.is_null();
        // A negative one says that there is no pointer to follow.
        let follows_pointers = !buffer.suboffsets.is_null()
            // SAFETY: a buffer has `ndim` suboffsets if it has any.
            && (0..rank).any(|axis| unsafe { *buffer.suboffsets.add(axis) } >= 0);
        if is_flat || follows_pointers {
            return Err(not_exchangeable("the buffer isn't one piece of memory"));
        }
        let size_at = |axis| {
            // SAFETY: a buffer has `ndim` sizes; one without is refused above.
            unsafe { *buffer.shape.add(axis) }
        };
        let bytes = match (0..rank).any(|axis| size_at(axis) == 0) {
            true => Some(0),
            false => (0..rank).try_fold(size, |bytes, axis| bytes.checked_mul(size_at(axis))),
        };
        if bytes != Some(buffer.len) {
            return Err(not_exchangeable(format!(
                "the buffer says that it has {} bytes, and its shape and its elements of {size} bytes say otherwise",
                buffer.len
            )));
        }
        if !buffer.strides.is_null() {
            for axis in 0..rank {
                // SAFETY: a buffer has `ndim` strides if it has any.
                let stride = unsafe { *buffer.strides.add(axis) };
                if stride % size != 0 {
                    return Err(not_exchangeable((
                        Kind::Layout,
                        format!(
                            "a stride of {stride} bytes isn't a multiple of the itemsize {size}"
                        ),
                    )));
                }
                strides.0[axis].write((stride / size) as i64);
            }
        }
        let has_strides = !buffer.strides.is_null();
        let descriptor = DLTensor {
            data: buffer.buf,
            device: Device::CPU.into(),
            ndim: buffer.ndim,
            dtype: dtype.into(),
            shape: buffer.shape.cast(),
            strides: if has_strides {
                strides.0.as_mut_ptr().cast()
            } else {
                ptr::null_mut()
            },
            byte_offset: 0,
        };
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, self.is_read_only());
        Ok((descriptor, flags))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if attach::may_release() {
            // SAFETY: Python says that this thread is attached.
            let py = unsafe { Python::assume_attached() };
            // SAFETY: the object lent it, and it is released once.
            return keeping_exception(py, || unsafe { release(&raw mut self.0) });
        }
        let mut moved = Box::new(Moved(self.0));
        // Some point into themselves.
        if ptr::eq(self.0.shape, &raw const self.0.len) {
            moved.0.shape = &raw mut moved.0.len;
        }
        if ptr::eq(self.0.strides, &raw const self.0.itemsize) {
            moved.0.strides = &raw mut moved.0.itemsize;
        }
        attach::release(move || {
            let mut moved = moved;
            // SAFETY: this runs attached; the object lent it, and it is released once.
            unsafe { release(&raw mut moved.0) }
        });
    }
}

/// A buffer that is released elsewhere.
struct Moved(ffi::Py_buffer);

// SAFETY: it is only used by a thread that is attached.
unsafe impl Send for Moved {}

/// # Safety
///
/// The thread is attached, and the buffer was lent and not released yet.
unsafe fn release(buffer: *mut ffi::Py_buffer) {
    type Release = unsafe extern "C-unwind" fn(*mut ffi::Py_buffer);
    type Declared = unsafe extern "C" fn(*mut ffi::Py_buffer);
    let release: Declared = ffi::PyBuffer_Release;
    // SAFETY: the types differ only in whether unwinding is expected, which the compiler mustn't
    // know better.
    let release = unsafe { transmute::<Declared, Release>(black_box(release)) };
    // SAFETY: the thread is attached, and owns the buffer, as this function's callers promise.
    unsafe { hang_on_unwind(|| release(buffer)) }
}

/// Returns the element type of a format as in Python's `struct`.
fn element_type(format: &[u8], size: isize) -> Option<DType> {
    let code = match format {
        [b'@' | b'=', code @ ..] => code,
        [b'<', code @ ..] if cfg!(target_endian = "little") => code,
        [b'>' | b'!', code @ ..] if cfg!(target_endian = "big") => code,
        code => code,
    };
    Some(match (code, size) {
        (b"?", 1) => DType::BOOL,
        (b"b", 1) => DType::I8,
        (b"B" | b"c", 1) => DType::U8,
        (b"h", 2) => DType::I16,
        (b"H", 2) => DType::U16,
        (b"i" | b"l" | b"q" | b"n", 4) => DType::I32,
        (b"I" | b"L" | b"Q" | b"N", 4) => DType::U32,
        (b"i" | b"l" | b"q" | b"n", 8) => DType::I64,
        (b"I" | b"L" | b"Q" | b"N", 8) => DType::U64,
        (b"e", 2) => DType::F16,
        (b"f", 4) => DType::F32,
        (b"d", 8) => DType::F64,
        (b"Zf", 8) => DType::C64,
        (b"Zd", 16) => DType::C128,
        _ => return None,
    })
}
