//! The struct of an array, and the type `numpy.ndarray`.

use super::element_type::ElementType;
use crate::dlpack::python::{intern, type_lookup};
use crate::dtype::DType;
use crate::layout::Layout;
use crate::python::error::not_exchangeable;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi};
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

#[repr(C)]
pub(in crate::python) struct Array {
    /// References to the object are counted while there are shared references to the struct.
    head: UnsafeCell<ffi::PyObject>,
    pub(in crate::python) data: *mut u8,
    pub(in crate::python) rank: c_int,
    pub(in crate::python) sizes: *mut isize,
    /// In bytes.
    pub(in crate::python) strides: *mut isize,
    pub(super) base: *mut ffi::PyObject,
    pub(super) element_type: *mut ElementType,
    flags: c_int,
}

/// `NPY_ARRAY_C_CONTIGUOUS`
const IS_ROW_MAJOR: c_int = 0x1;
/// `NPY_ARRAY_WRITEABLE`
pub(super) const IS_WRITABLE: c_int = 0x400;

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
    #[inline]
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
    #[inline]
    pub(in crate::python) fn is_row_major(&self) -> bool {
        self.flags & IS_ROW_MAJOR != 0
    }

    /// Returns whether the array's sizes and strides are those of a layout of elements of `item`
    /// bytes.
    pub(super) fn has_layout(&self, layout: &Layout, item: isize) -> bool {
        let layout = layout.as_ref();
        let mut dims = layout.shape().iter().zip(layout.strides()).enumerate();
        layout.rank() == self.rank as usize
            && dims.all(|(axis, (&size, &stride))| {
                // SAFETY: `axis` is below the rank, and an array has a size and a stride for each
                // axis.
                let (our_size, our_stride) =
                    unsafe { (*self.sizes.add(axis), *self.strides.add(axis)) };
                our_size as usize == size && stride.checked_mul(item) == Some(our_stride)
            })
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
            // SAFETY: an array has `rank` sizes and strides.
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
pub(super) fn uneven(item: isize) -> PyErr {
    not_exchangeable(format!(
        "the array's strides aren't multiples of its elements' {item} bytes"
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

/// Returns whether a type, of these base classes, has NumPy's scalars whose buffer isn't their
/// value: the bytes of a date; or no buffer, as of `ml_dtypes`, whose classes are `generic` ones.
pub(in crate::python) fn is_special_scalar<'py>(
    mut bases: impl Iterator<Item = Bound<'py, PyType>>,
) -> bool {
    let is_numpys = |base: &Bound<'_, PyType>| {
        type_lookup::is_immutable(base)
            && type_lookup::module_name(base).as_deref() == Some("numpy")
    };
    let nearest = bases.find(is_numpys);
    let name = nearest.and_then(|base| type_lookup::type_name(&base));
    matches!(
        name.as_deref(),
        Some("generic" | "datetime64" | "timedelta64")
    )
}

/// Returns a scalar as an array of rank 0, with a copy of its value. It is a `numpy.ndarray`,
/// whatever Python code put in the place of NumPy's function.
pub(in crate::python) fn array_of<'py>(
    scalar: Borrowed<'_, 'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = scalar.py().import(intern!(scalar.py(), "numpy"))?;
    let array = numpy.call_method1(intern!(scalar.py(), "asarray"), (scalar,))?;
    if is_array_type(&array.get_type()) {
        remember(&array.get_type());
        return Ok(array);
    }
    Err(not_exchangeable("NumPy made no array of its scalar"))
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

const _: () = assert!(size_of::<*mut c_void>() == size_of::<isize>());
