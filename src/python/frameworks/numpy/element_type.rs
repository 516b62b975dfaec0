//! The struct of an element type, and those that NumPy numbers itself.

use crate::dlpack::python::type_lookup;
use crate::dtype::DType;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int};

#[repr(C)]
pub(super) struct ElementType {
    /// References to the object are counted while there are shared references to the struct.
    head: UnsafeCell<ffi::PyObject>,
    pub(super) scalar_type: *mut ffi::PyTypeObject,
    kind: c_char,
    letter: c_char,
    byte_order: c_char,
    reserved: c_char,
    pub(super) number: c_int,
}

/// The byte order that isn't this machine's.
const FOREIGN: u8 = if cfg!(target_endian = "little") {
    b'>'
} else {
    b'<'
};

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
pub(super) static NUMBERED: [Option<DType>; 24] = [
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

impl ElementType {
    /// Returns the element type of an object, where that is one of NumPy's.
    pub(super) fn of<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Self> {
        let bases = type_lookup::mro(&object.get_type()).ok()?;
        let is_dtype = bases.iter().any(|base| {
            base.cast::<PyType>()
                .is_ok_and(|base| type_lookup::is_c_type(base, "numpy", "dtype"))
        });
        // SAFETY: an object of a class that is derived from NumPy's C class has its layout.
        is_dtype.then(|| unsafe { &*object.as_ptr().cast::<Self>() })
    }

    /// Returns whether the bytes of a number are in the order that isn't this machine's.
    #[inline(always)]
    pub(super) fn is_foreign(&self) -> bool {
        self.byte_order as u8 == FOREIGN
    }

    /// What the usual element types are, of NumPy's own and in this machine's byte order; `None`
    /// for all others.
    #[inline(always)]
    pub(super) fn usual(&self) -> Option<DType> {
        match NUMBERED.get(self.number as usize) {
            Some(Some(dtype)) if !self.is_foreign() => Some(*dtype),
            _ => None,
        }
    }
}
