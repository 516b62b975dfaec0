//! NumPy's arrays, by their fields.
//!
//! The struct of an array is the same in NumPy 1 and 2, and part of its C interface. That of an
//! element type differs from its fourth field on, behind what is read here.

mod keeper;
mod make;

pub(super) use make::{lacks, make, surely_has};

use super::error::{Refused, not_exchangeable, not_importable};
use super::ledger::Entry;
use crate::device::Device;
use crate::dtype::DType;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

#[repr(C)]
pub(super) struct Array {
    head: ffi::PyObject,
    pub(super) data: *mut u8,
    pub(super) rank: c_int,
    pub(super) sizes: *mut isize,
    /// In bytes.
    pub(super) strides: *mut isize,
    base: *mut ffi::PyObject,
    element_type: *mut ElementType,
    flags: c_int,
}

#[repr(C)]
struct ElementType {
    head: ffi::PyObject,
    scalar_type: *mut ffi::PyTypeObject,
    kind: c_char,
    letter: c_char,
    byte_order: c_char,
    reserved: c_char,
    number: c_int,
}

/// The byte order that isn't this machine's.
const FOREIGN: u8 = if cfg!(target_endian = "little") {
    b'>'
} else {
    b'<'
};

/// `NPY_ARRAY_C_CONTIGUOUS`
const IS_ROW_MAJOR: c_int = 0x1;
/// `NPY_ARRAY_WRITEABLE`
const IS_WRITABLE: c_int = 0x400;

const LONG: DType = if size_of::<std::ffi::c_long>() == 8 {
    DType::I64
} else {
    DType::I32
};
const ULONG: DType = if size_of::<std::ffi::c_ulong>() == 8 {
    DType::U64
} else {
    DType::U32
};

/// The element types that NumPy numbers.
static NUMBERED: [Option<DType>; 24] = [
    Some(DType::BOOL),
    Some(DType::I8),
    Some(DType::U8),
    Some(DType::I16),
    Some(DType::U16),
    Some(DType::I32),
    Some(DType::U32),
    Some(LONG),
    Some(ULONG),
    Some(DType::I64),
    Some(DType::U64),
    Some(DType::F32),
    Some(DType::F64),
    None, // long double
    Some(DType::C64),
    Some(DType::C128),
    None, // complex long double
    None, // objects
    None, // bytes
    None, // text
    None, // structs
    None, // dates
    None, // times
    Some(DType::F16),
];

/// The array's fields.
///
/// # Safety
///
/// The object is a `numpy.ndarray`, which stays.
#[inline]
pub(super) unsafe fn fields<'a>(object: Borrowed<'a, '_, PyAny>) -> &'a Array {
    // SAFETY: the caller's promise.
    unsafe { &*object.as_ptr().cast::<Array>() }
}

impl Array {
    pub(super) fn is_writable(&self) -> bool {
        self.flags & IS_WRITABLE != 0
    }

    /// The element type, and whether its elements are padded.
    #[inline]
    pub(super) fn dtype(&self, py: Python<'_>) -> Result<(DType, bool), Refused> {
        // SAFETY: an array has an element type.
        let element_type = unsafe { &*self.element_type };
        let number = usize::try_from(element_type.number).unwrap_or(usize::MAX);
        match NUMBERED.get(number) {
            Some(Some(dtype)) if element_type.byte_order as u8 != FOREIGN => Ok((*dtype, false)),
            _ => Ok(element_type.extension(py)?),
        }
    }
}

/// Numbers of an array's dimensions, without an allocation for all of NumPy's ranks.
pub(super) struct Numbers([MaybeUninit<i64>; MAX_RANK]);

/// `NPY_MAXDIMS`
pub(super) const MAX_RANK: usize = 64;

impl Numbers {
    pub(super) fn new() -> Self {
        Self([MaybeUninit::uninit(); MAX_RANK])
    }
}

impl Array {
    pub(super) fn is_row_major(&self) -> bool {
        self.flags & IS_ROW_MAJOR != 0
    }

    /// The strides in elements, in `room`; NULL where they are row-major.
    pub(super) fn strides_in_elements(
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

impl ElementType {
    /// One of the types that the package `ml_dtypes` adds, each of whole bytes.
    #[cold]
    fn extension(&self, py: Python<'_>) -> PyResult<(DType, bool)> {
        // SAFETY: an element type has a type of scalars.
        let kind =
            unsafe { Borrowed::from_ptr(py, self.scalar_type.cast()).cast_unchecked::<PyType>() };
        if kind.module()?.to_string_lossy() == "ml_dtypes" {
            let name = kind.name()?;
            if let Ok(dtype) = name.to_string_lossy().parse::<DType>() {
                return Ok((dtype, dtype.is_sub_byte()));
            }
        }
        // SAFETY: as an object it describes itself.
        let this = unsafe { Borrowed::from_ptr(py, ptr::from_ref(self).cast_mut().cast()) };
        Err(not_exchangeable(format!(
            "elements of NumPy's {} are none that DLPack has",
            this.repr()?
        )))
    }
}

/// The type `numpy.ndarray`, once it is known.
static ARRAY_TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// Remembers the type `numpy.ndarray`, which is never gone again.
pub(super) fn remember(kind: &Bound<'_, PyType>) {
    ARRAY_TYPE.store(kind.as_type_ptr(), Ordering::Release);
}

/// Whether an object is an array, once the type is known.
#[inline(always)]
pub(super) fn is_array(object: Borrowed<'_, '_, PyAny>) -> bool {
    object.get_type_ptr() == ARRAY_TYPE.load(Ordering::Acquire)
}

/// Fills an entry in the usual case: an array of elements one after another.
///
/// `false`, and a blank entry, for any other.
///
/// # Safety
///
/// As of [`look`].
#[inline(always)]
pub(super) unsafe fn look_at_usual(object: Borrowed<'_, '_, PyAny>, entry: &mut Entry) -> bool {
    // SAFETY: the caller's promise.
    let array = unsafe { fields(object) };
    // SAFETY: an array has an element type.
    let element_type = unsafe { &*array.element_type };
    let number = element_type.number as usize;
    let Some(&Some(dtype)) = NUMBERED.get(number) else {
        return false;
    };
    if !array.is_row_major() || element_type.byte_order as u8 == FOREIGN {
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

/// Fills an entry with what an array looks like.
///
/// # Safety
///
/// The object is a `numpy.ndarray`, which stays for as long as the entry is in use.
#[inline]
pub(super) unsafe fn look(
    object: Borrowed<'_, '_, PyAny>,
    entry: &mut Entry,
) -> Result<(), Refused> {
    // SAFETY: the caller's promise.
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
