//! The C exchange table, as its producer: the functions for a type of one's own.

use super::table::CAPSULE_NAME;
use crate::abi::{
    DLDevice, DLDeviceType, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLTensor, VERSION,
    Versioned,
};
use crate::managed::Managed;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{Borrowed, ffi};
use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// Why nothing could be allocated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AllocationError {
    /// The name of the Python exception that fits, such as `MemoryError`.
    pub kind: &'static str,
    /// The error.
    pub message: String,
}

/// A Python type whose objects are exchanged through a table: see [`table`].
///
/// Panics in these functions are turned into Python exceptions.
///
/// # Safety
///
/// Consumers trust these functions, as they can't check the results:
///
/// - The descriptor from [`borrow`](Self::borrow) is true for as long as the object is there and
///   isn't changed: its pointers lead to as many sizes and strides as its rank says, and to as much
///   memory as these say, which the object keeps.
/// - The handle from [`current_stream`](Self::current_stream) is that of a stream of that device,
///   which stays while consumers use it, or NULL.
/// - Both functions may be called at any time on objects of the type, by threads that are attached
///   to Python.
///
/// The other functions have no further requirements: the maker of a [`Managed`] vouches for it.
pub unsafe trait Exchange: 'static {
    /// Returns a managed tensor of an object.
    ///
    /// # Errors
    ///
    /// A `TypeError` when the object isn't of the type, a `BufferError` when it can't be exported.
    fn own(object: Borrowed<'_, '_, PyAny>) -> PyResult<Managed<Versioned>>;

    /// Returns the descriptor of an object. Its shape and strides lie in the object.
    ///
    /// # Errors
    ///
    /// The same as for [`own`](Self::own).
    fn borrow(object: Borrowed<'_, '_, PyAny>) -> PyResult<DLTensor>;

    /// Returns an object around a managed tensor.
    ///
    /// # Errors
    ///
    /// When the descriptor isn't a valid tensor, which is then released.
    fn make_object(py: Python<'_>, managed: Managed<Versioned>) -> PyResult<Bound<'_, PyAny>>;

    /// Allocates memory. May be called by detached threads.
    ///
    /// # Errors
    ///
    /// When there is none, or none on that device.
    ///
    /// # Safety
    ///
    /// The prototype's shape leads to as many sizes as its rank says.
    unsafe fn allocate(prototype: &DLTensor) -> Result<Managed<Versioned>, AllocationError>;

    /// Returns the stream on which the type's objects are worked on at present; NULL for a
    /// device without streams.
    ///
    /// # Errors
    ///
    /// When there is no such device.
    fn current_stream(py: Python<'_>, device: DLDevice) -> PyResult<*mut c_void>;
}

/// Creates the table of a type: to be kept in a `static`.
pub const fn table<E: Exchange>() -> DLPackExchangeAPI {
    DLPackExchangeAPI {
        header: DLPackExchangeAPIHeader {
            version: VERSION,
            prev_api: ptr::null_mut(),
        },
        managed_tensor_allocator: Some(allocate::<E>),
        managed_tensor_from_py_object_no_sync: Some(own::<E>),
        managed_tensor_to_py_object_no_sync: Some(make_object::<E>),
        dltensor_from_py_object_no_sync: Some(borrow::<E>),
        current_work_stream: Some(current_stream::<E>),
    }
}

/// Creates the capsule that a type has as its attribute `__dlpack_c_exchange_api__`.
///
/// # Errors
///
/// A `MemoryError` if Python can't allocate the capsule.
///
/// # Safety
///
/// [`table`] made the table, or its functions do what DLPack says of them: consumers believe that.
pub unsafe fn table_capsule<'py>(
    py: Python<'py>,
    table: &'static DLPackExchangeAPI,
) -> PyResult<Bound<'py, PyCapsule>> {
    let pointer = NonNull::from(table).cast();
    // SAFETY: the table and the name are static, and the capsule has no destructor.
    unsafe { PyCapsule::new_with_pointer(py, pointer, CAPSULE_NAME) }
}

/// Runs `function`, and raises its error or panic in Python. Returns the status code for C.
fn guarded(function: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    let outcome = Python::try_attach(|py| {
        let error = match catch_unwind(AssertUnwindSafe(|| function(py))) {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => error,
            Err(panic) => PyRuntimeError::new_err(message_of(panic)),
        };
        error.restore(py);
        -1
    });
    // Without an interpreter there is nowhere to raise.
    outcome.unwrap_or(-1)
}

fn message_of(panic: Box<dyn Any + Send>) -> String {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => (*message).to_owned(),
        (_, Some(message)) => message.clone(),
        _ => "a panic without a message".to_owned(),
    };
    crate::contain_panics(|| drop(panic));
    format!("panicked: {message}")
}

/// Returns the object behind a pointer from C.
///
/// # Safety
///
/// The pointer is NULL or to an object that stays for as long as the answer is used.
unsafe fn object<'a, 'py>(
    py: Python<'py>,
    pointer: *mut c_void,
) -> PyResult<Borrowed<'a, 'py, PyAny>> {
    // SAFETY: `pointer` is NULL or a live object, by this function's contract.
    unsafe { Borrowed::from_ptr_or_opt(py, pointer.cast::<ffi::PyObject>()) }
        .ok_or_else(|| PyRuntimeError::new_err("expected an object, got NULL"))
}

/// # Safety
///
/// By DLPack's contract: a valid object, and memory for the result.
unsafe extern "C" fn own<E: Exchange>(from: *mut c_void, out: *mut *mut Versioned) -> c_int {
    guarded(|py| {
        // SAFETY: `from` is a live object, by the exchange API's contract.
        let managed = E::own(unsafe { object(py, from) }?)?;
        // SAFETY: `out` is writable, by the exchange API's contract.
        unsafe { out.write(managed.into_raw().as_ptr()) };
        Ok(())
    })
}

/// # Safety
///
/// By DLPack's contract: a valid object, and memory for the result.
unsafe extern "C" fn borrow<E: Exchange>(from: *mut c_void, out: *mut DLTensor) -> c_int {
    guarded(|py| {
        // SAFETY: `from` is a live object, by the exchange API's contract.
        let descriptor = E::borrow(unsafe { object(py, from) }?)?;
        // SAFETY: `out` is writable, by the exchange API's contract.
        unsafe { out.write(descriptor) };
        Ok(())
    })
}

/// # Safety
///
/// By DLPack's contract: a managed tensor that the caller gives away, and memory for the result.
unsafe extern "C" fn make_object<E: Exchange>(
    from: *mut Versioned,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: the exchange API gives this function ownership of `from`. From here on it is released
    // on every path.
    let managed = unsafe { Managed::from_raw(from) };
    guarded(|py| {
        let managed =
            managed.map_err(|error| pyo3::exceptions::PyBufferError::new_err(error.to_string()))?;
        let object = E::make_object(py, managed)?;
        // SAFETY: `out` is writable, by the exchange API's contract.
        unsafe { out.write(object.into_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
///
/// By DLPack's contract: a valid prototype, memory for the result, and a function for the context.
unsafe extern "C" fn allocate<E: Exchange>(
    prototype: *mut DLTensor,
    out: *mut *mut Versioned,
    error_context: *mut c_void,
    set_error: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
) -> c_int {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `prototype` is a valid descriptor, by the exchange API's contract.
        unsafe { E::allocate(&*prototype) }
    }));
    let error = match attempt {
        Ok(Ok(managed)) => {
            // SAFETY: `out` is writable, by the exchange API's contract.
            unsafe { out.write(managed.into_raw().as_ptr()) };
            return 0;
        }
        Ok(Err(error)) => error,
        Err(panic) => AllocationError {
            kind: "RuntimeError",
            message: message_of(panic),
        },
    };
    if let Some(set_error) = set_error {
        let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
        let (kind, message) = (text(error.kind), text(&error.message));
        // SAFETY: the context is the caller's own, and both are C strings for the call.
        unsafe { set_error(error_context, kind.as_ptr(), message.as_ptr()) };
    }
    -1
}

/// # Safety
///
/// By DLPack's contract: memory for the result.
unsafe extern "C" fn current_stream<E: Exchange>(
    device_type: DLDeviceType,
    device_id: i32,
    out: *mut *mut c_void,
) -> c_int {
    guarded(|py| {
        let device = DLDevice {
            device_type,
            device_id,
        };
        let stream = E::current_stream(py, device)?;
        // SAFETY: `out` is writable, by the exchange API's contract.
        unsafe { out.write(stream) };
        Ok(())
    })
}
