//! NumPy: arrays, read by their fields.
//!
//! The struct of an array is the same in NumPy 1 and 2, and part of its C interface. That of an
//! element type differs behind its number, and what is read here comes before.

mod element_type;
mod keeper;
mod make;

pub(in crate::python) use make::make;
use make::{lacks, surely_has};

#[cfg(feature = "cuda")]
use super::common::root_module;
use super::constraints::{ANYTHING, Needs};
use super::row::{Export, Framework};

use crate::device::Device;
use crate::dlpack::python::type_lookup;
use crate::dtype::DType;
use crate::python::borrows::Entry;
use crate::python::error::{Refused, not_exchangeable, not_importable};
use element_type::ElementType;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi, intern};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(super) static ROW: Framework = Framework {
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

#[repr(C)]
pub(in crate::python) struct Array {
    /// References to the object are counted while there are shared references to the struct.
    head: UnsafeCell<ffi::PyObject>,
    pub(in crate::python) data: *mut u8,
    pub(in crate::python) rank: c_int,
    pub(in crate::python) sizes: *mut isize,
    /// In bytes.
    pub(in crate::python) strides: *mut isize,
    base: *mut ffi::PyObject,
    element_type: *mut ElementType,
    flags: c_int,
}

/// `NPY_ARRAY_C_CONTIGUOUS`
const IS_ROW_MAJOR: c_int = 0x1;
/// `NPY_ARRAY_WRITEABLE`
const IS_WRITABLE: c_int = 0x400;

/// Returns the array's fields.
///
/// # Safety
///
/// The object is a `numpy.ndarray`, which stays.
#[inline]
pub(in crate::python) unsafe fn fields<'a>(object: Borrowed<'a, '_, PyAny>) -> &'a Array {
    // SAFETY: the object is a `numpy.ndarray`, whose struct begins with these fields.
    unsafe { &*object.as_ptr().cast::<Array>() }
}

impl Array {
    pub(in crate::python) fn is_writable(&self) -> bool {
        self.flags & IS_WRITABLE != 0
    }
}

/// Numbers of an array's dimensions, without an allocation for all of NumPy's ranks.
pub(in crate::python) struct Numbers([MaybeUninit<i64>; MAX_RANK]);

/// `NPY_MAXDIMS`
pub(in crate::python) const MAX_RANK: usize = 64;

impl Numbers {
    pub(in crate::python) fn new() -> Self {
        Self([MaybeUninit::uninit(); MAX_RANK])
    }
}

impl Array {
    pub(in crate::python) fn is_row_major(&self) -> bool {
        self.flags & IS_ROW_MAJOR != 0
    }

    /// Returns the strides in elements, in `room`; NULL where they are row-major.
    pub(in crate::python) fn strides_in_elements(
        &self,
        dtype: DType,
        padded: bool,
        room: &mut Numbers,
    ) -> PyResult<*mut i64> {
        if self.is_row_major() {
            return Ok(ptr::null_mut());
        }
        let item = (dtype.step_bits(padded) / 8) as isize;
        for axis in 0..self.rank as usize {
            // SAFETY: as many sizes and strides as dimensions.
            let (size, stride) = unsafe { (*self.sizes.add(axis), *self.strides.add(axis)) };
            if size > 1 && stride % item != 0 {
                return Err(uneven(item));
            }
            room.0[axis].write((stride / item) as i64);
        }
        Ok(room.0.as_mut_ptr().cast())
    }
}

#[cold]
fn uneven(item: isize) -> PyErr {
    not_exchangeable(format!(
        "the array's strides are no multiples of its elements' {item} bytes"
    ))
}

/// The type `numpy.ndarray`, once it is known.
static ARRAY_TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// Returns whether a type is `numpy.ndarray`: the C type, whatever the module has under that name.
pub(in crate::python) fn is_array_type(kind: &Bound<'_, PyType>) -> bool {
    let known = ARRAY_TYPE.load(Ordering::Acquire);
    kind.as_type_ptr() == known
        || known.is_null()
            && type_lookup::is_c_type(kind, "numpy", "ndarray")
            && type_lookup::basic_size(kind).is_some_and(|size| size >= size_of::<Array>())
}

/// Remembers the type `numpy.ndarray`, which is never gone again.
pub(in crate::python) fn remember(kind: &Bound<'_, PyType>) {
    ARRAY_TYPE.store(kind.as_type_ptr(), Ordering::Release);
}

/// Returns whether an object is an array, once the type is known.
#[inline(always)]
pub(in crate::python) fn is_array(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.get_type_ptr() == ARRAY_TYPE.load(Ordering::Acquire)
}

/// Borrows an array in the usual case: of elements one after another.
///
/// `false`, and a blank entry, for any other.
///
/// # Safety
///
/// As of [`borrow`].
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
    let mut is_uneven = false;
    entry.become_scalar();
    let outcome = entry.layout.rebuild(array.rank as usize, |axis| {
        // SAFETY: as many sizes and strides as dimensions; NumPy's sizes aren't negative.
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
    Ok(())
}

const _: () = assert!(size_of::<*mut c_void>() == size_of::<isize>());
