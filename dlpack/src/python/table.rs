//! The C exchange table, as its consumer sees it.

use super::type_lookup::lookup;
use crate::abi::{
    DLDevice, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLTensor, VERSION, Versioned,
};
use crate::managed::{FromRawError, Managed};
use crate::python::intern;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Mutex;

/// The name of the capsule with a table in it.
pub(super) const CAPSULE_NAME: &CStr = c"dlpack_exchange_api";

/// How many older tables are followed: a longer chain is circular.
const LONGEST_CHAIN: usize = 16;

/// The functions through which a type's objects are exchanged without calling Python.
///
/// A type of which one was found keeps it for as long as the process runs.
#[derive(Debug, Clone, Copy)]
pub struct Table(&'static DLPackExchangeAPI);

// SAFETY: no code changes a table, and its functions may be called by any thread that is attached.
unsafe impl Send for Table {}
// SAFETY: a table is immutable, and its functions may be called on any attached thread.
unsafe impl Sync for Table {}

impl Table {
    /// Returns the table of a type, under its name or the older spelling; `None` for a type without
    /// one, or whose table is NULL, of a foreign major version, or lacks what every table must
    /// have.
    ///
    /// Only a capsule with DLPack's name in the dictionary of the type or a base class is believed:
    /// an address in a number can be written by any Python code. The capsule is kept for good, as
    /// the table may be its own.
    pub fn of_type(kind: &Bound<'_, PyType>) -> Option<Self> {
        Self::find(kind).map(|(_, table)| table)
    }

    /// Returns [`of_type`](Self::of_type), with the position in the method resolution order of the
    /// class that has it.
    pub fn find(kind: &Bound<'_, PyType>) -> Option<(usize, Self)> {
        let py = kind.py();
        let names = [
            intern!(py, "__dlpack_c_exchange_api__"),
            intern!(py, "__c_dlpack_exchange_api__"),
        ];
        names.iter().find_map(|name| {
            let (depth, attribute) = lookup(kind, name)?;
            let header = address(&attribute)?;
            // SAFETY: DLPack says that a capsule of this name holds a table.
            let table = unsafe { Self::from_chain(header) }?;
            keep(attribute);
            Some((depth, table))
        })
    }

    /// Returns the first table of our major version in the chain.
    ///
    /// # Safety
    ///
    /// The pointer is NULL or leads to a table of some version, which stays.
    unsafe fn from_chain(mut header: *const DLPackExchangeAPIHeader) -> Option<Self> {
        for _ in 0..LONGEST_CHAIN {
            if header.is_null() || !header.is_aligned() {
                return None;
            }
            // SAFETY: every version begins with this header.
            let DLPackExchangeAPIHeader { version, prev_api } = unsafe { *header };
            if version.major == VERSION.major {
                // SAFETY: the major version is ours, so the struct has this layout.
                let table = unsafe { &*header.cast::<DLPackExchangeAPI>() };
                // Only the call that borrows may be missing.
                let is_whole = table.managed_tensor_from_py_object_no_sync.is_some()
                    && table.managed_tensor_to_py_object_no_sync.is_some();
                return is_whole.then_some(Self(table));
            }
            header = prev_api;
        }
        None
    }

    /// Returns the address of the table.
    pub fn as_ptr(self) -> *const DLPackExchangeAPI {
        self.0
    }

    /// Creates a `Table` from the address that [`as_ptr`](Self::as_ptr) returned.
    ///
    /// # Safety
    ///
    /// The pointer came from there.
    pub unsafe fn from_ptr(table: *const DLPackExchangeAPI) -> Self {
        // SAFETY: the pointer came from `as_ptr`, by this function's contract, and tables live
        // forever.
        Self(unsafe { &*table })
    }

    /// Returns whether [`borrow`](Self::borrow) works.
    #[inline]
    pub fn can_borrow(self) -> bool {
        self.0.dltensor_from_py_object_no_sync.is_some()
    }

    /// Returns whether [`current_stream`](Self::current_stream) works.
    pub fn can_tell_stream(self) -> bool {
        self.0.current_work_stream.is_some()
    }

    /// Returns whether [`allocate`](Self::allocate) works.
    pub fn can_allocate(self) -> bool {
        self.0.managed_tensor_allocator.is_some()
    }

    /// Returns an object's descriptor, valid until the object changes. It doesn't report read-only
    /// memory.
    ///
    /// # Errors
    ///
    /// What the producer raises, and a `BufferError` where it has no such function.
    ///
    /// # Safety
    ///
    /// The table is that of the object's type.
    pub unsafe fn borrow(self, object: Borrowed<'_, '_, PyAny>) -> PyResult<DLTensor> {
        let mut room = MaybeUninit::uninit();
        // SAFETY: the table is that of the object's type, by this function's contract.
        match unsafe { self.borrow_to(object, &mut room) } {
            Some(descriptor) => Ok(*descriptor),
            None => Err(self.borrow_error(object.py())),
        }
    }

    /// Borrows like [`borrow`](Self::borrow), into caller-provided memory. After `None`,
    /// [`borrow_error`](Self::borrow_error) says why.
    ///
    /// # Safety
    ///
    /// The same as for [`borrow`](Self::borrow).
    #[inline(always)]
    pub unsafe fn borrow_to<'a>(
        self,
        object: Borrowed<'_, '_, PyAny>,
        room: &'a mut MaybeUninit<DLTensor>,
    ) -> Option<&'a DLTensor> {
        let function = self.0.dltensor_from_py_object_no_sync?;
        // SAFETY: an object of the table's type, and room for the answer, which was written where
        // the function says so.
        unsafe {
            match function(object.as_ptr().cast(), room.as_mut_ptr()) {
                0 => Some(room.assume_init_ref()),
                _ => None,
            }
        }
    }

    /// Returns the exception raised by [`borrow_to`](Self::borrow_to).
    #[cold]
    pub fn borrow_error(self, py: Python<'_>) -> PyErr {
        match self.0.dltensor_from_py_object_no_sync {
            Some(_) => raised(py, "dltensor_from_py_object_no_sync"),
            None => lacks("dltensor_from_py_object_no_sync"),
        }
    }

    /// Exports an object as a managed tensor.
    ///
    /// # Errors
    ///
    /// What the producer raises, and a `BufferError` for a result that isn't a table.
    ///
    /// # Safety
    ///
    /// The table is that of the object's type.
    #[inline]
    pub unsafe fn own(self, object: Borrowed<'_, '_, PyAny>) -> PyResult<Managed<Versioned>> {
        let Some(function) = self.0.managed_tensor_from_py_object_no_sync else {
            return Err(lacks("managed_tensor_from_py_object_no_sync"));
        };
        let mut managed = ptr::null_mut();
        // SAFETY: the object is of the table's type, and `out` is writable.
        let status = unsafe { function(object.as_ptr().cast(), &mut managed) };
        if status != 0 {
            return Err(raised(object.py(), "managed_tensor_from_py_object_no_sync"));
        }
        // SAFETY: the function returns an owned managed tensor, valid by the exchange API's
        // contract.
        unsafe { Managed::from_raw(managed) }.map_err(unusable)
    }

    /// Returns an object of the framework that the table belongs to, around a managed tensor.
    ///
    /// # Errors
    ///
    /// What the framework raises. Whether it then released the tensor is its own affair: some
    /// don't, so ask them only for what they have.
    pub fn make_object(
        self,
        py: Python<'_>,
        managed: Managed<Versioned>,
    ) -> PyResult<Bound<'_, PyAny>> {
        let Some(function) = self.0.managed_tensor_to_py_object_no_sync else {
            return Err(lacks("managed_tensor_to_py_object_no_sync"));
        };
        let mut object: *mut c_void = ptr::null_mut();
        // SAFETY: the function takes ownership of the managed tensor, and `out` is writable.
        let status = unsafe { function(managed.into_raw().as_ptr(), &mut object) };
        if status != 0 || object.is_null() {
            return Err(raised(py, "managed_tensor_to_py_object_no_sync"));
        }
        // SAFETY: the function returns an owned reference.
        Ok(unsafe { Bound::from_owned_ptr(py, object.cast()) })
    }

    /// Allocates memory by the framework's allocator, with sizes, element type and device of the
    /// prototype. The elements hold anything.
    ///
    /// # Errors
    ///
    /// The framework's error.
    ///
    /// # Safety
    ///
    /// The prototype's shape leads to as many sizes as its rank says.
    pub unsafe fn allocate(
        self,
        py: Python<'_>,
        prototype: &DLTensor,
    ) -> PyResult<Managed<Versioned>> {
        let Some(function) = self.0.managed_tensor_allocator else {
            return Err(lacks("managed_tensor_allocator"));
        };
        let mut prototype = *prototype;
        let mut managed = ptr::null_mut();
        let mut error = AllocatorError::default();
        let context = (&raw mut error).cast();
        // SAFETY: the prototype is valid, `out` is writable, and `set_error` takes this context.
        let status = unsafe { function(&mut prototype, &mut managed, context, Some(note_error)) };
        if status != 0 || managed.is_null() {
            return Err(error.into_exception(py));
        }
        // SAFETY: the function returns an owned managed tensor, valid by the exchange API's
        // contract.
        unsafe { Managed::from_raw(managed) }.map_err(unusable)
    }

    /// Returns the framework's current stream.
    ///
    /// # Errors
    ///
    /// What the framework raises, and a `BufferError` where it has no such function.
    pub fn current_stream(self, py: Python<'_>, device: DLDevice) -> PyResult<*mut c_void> {
        let Some(function) = self.0.current_work_stream else {
            return Err(lacks("current_work_stream"));
        };
        let mut stream = ptr::null_mut();
        // SAFETY: `out` is writable.
        match unsafe { function(device.device_type, device.device_id, &mut stream) } {
            0 => Ok(stream),
            _ => Err(raised(py, "current_work_stream")),
        }
    }
}

/// Returns the address in a capsule of a table; `None` for any other object.
fn address(attribute: &Bound<'_, PyAny>) -> Option<*const DLPackExchangeAPIHeader> {
    let name = CAPSULE_NAME.as_ptr();
    // SAFETY: any object may be asked: this looks at its type, which is to be exactly a capsule,
    // and at the name.
    unsafe {
        if ffi::PyCapsule_IsValid(attribute.as_ptr(), name) == 0 {
            return None;
        }
        Some(ffi::PyCapsule_GetPointer(attribute.as_ptr(), name).cast())
    }
}

/// Keeps a capsule for good, once.
fn keep(capsule: Bound<'_, PyAny>) {
    static KEPT: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(|poison| poison.into_inner());
    if kept.insert(capsule.as_ptr().addr()) {
        // Never given back, so that no other object comes to be at the address.
        let _forgotten = capsule.into_ptr();
    }
}

/// Error of an allocator.
#[derive(Default)]
struct AllocatorError(Option<(CString, CString)>);

/// # Safety
///
/// The context is an [`AllocatorError`], and both strings are C strings or NULL.
unsafe extern "C" fn note_error(context: *mut c_void, kind: *const c_char, message: *const c_char) {
    let text = |text: *const c_char| {
        if text.is_null() {
            c"".to_owned()
        } else {
            // SAFETY: the caller passes a C string, by the exchange API's contract.
            unsafe { CStr::from_ptr(text) }.to_owned()
        }
    };
    // SAFETY: the context is the one that `allocate` passed, which outlives the call.
    let error = unsafe { &mut *context.cast::<AllocatorError>() };
    error.0 = Some((text(kind), text(message)));
}

impl AllocatorError {
    fn into_exception(self, py: Python<'_>) -> PyErr {
        // Some raise in Python instead of saying so here.
        let pending = PyErr::take(py);
        let Some((kind, message)) = self.0 else {
            return pending
                .unwrap_or_else(|| PyBufferError::new_err("the framework's allocator failed"));
        };
        let message = message.to_string_lossy().into_owned();
        match kind.to_bytes() {
            b"MemoryError" => PyMemoryError::new_err(message),
            b"TypeError" => PyTypeError::new_err(message),
            b"ValueError" => PyValueError::new_err(message),
            _ => PyBufferError::new_err(message),
        }
    }
}

#[cold]
fn lacks(function: &str) -> PyErr {
    PyBufferError::new_err(format!("the exchange table lacks {function}"))
}

#[cold]
fn raised(py: Python<'_>, function: &str) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| {
        PyBufferError::new_err(format!("{function} failed, and doesn't say why"))
    })
}

#[cold]
fn unusable(error: FromRawError) -> PyErr {
    PyBufferError::new_err(error.to_string())
}
