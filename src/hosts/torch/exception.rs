//! C++ exceptions, the only failure that a function called by PyTorch's dispatcher can have.

use crate::hosts::lookup::{address, loaded};
use crate::hosts::{Host, HostError};
use std::ffi::{CStr, c_char, c_void};

/// The names of the C++ runtime's library.
const RUNTIMES: [&str; 3] = ["libstdc++.so.6", "libc++abi.1.dylib", "libc++abi.dylib"];

/// A `std::runtime_error` that is to be thrown, once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exception {
    object: *mut c_void,
    exceptions: Exceptions,
}

impl Exception {
    /// Throws the exception.
    ///
    /// # Safety
    ///
    /// It wasn't thrown before. The frames up to the C++ code that catches it have nothing to drop,
    /// and may be unwound.
    #[inline(always)]
    pub(super) unsafe fn throw(self) -> ! {
        let Exceptions {
            throw,
            type_info,
            destroy,
            ..
        } = self.exceptions;
        // SAFETY: the exception has its own type and destructor, and is thrown once, as this
        // function requires; nothing here is left to drop.
        unsafe { throw(self.object, type_info, destroy) }
    }
}

/// What throws a `std::runtime_error`, as `throw` in C++ does by the Itanium C++ ABI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exceptions {
    allocate: unsafe extern "C" fn(usize) -> *mut c_void,
    construct: unsafe extern "C" fn(*mut c_void, *const c_char),
    throw: unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void) -> !,
    type_info: *const c_void,
    destroy: *const c_void,
    delete: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: functions and constants of a library that is never unloaded.
unsafe impl Send for Exceptions {}
// SAFETY: they may be called on any thread.
unsafe impl Sync for Exceptions {}

impl Exceptions {
    /// Finds the functions in the C++ runtime that the process has loaded.
    pub(super) fn find() -> Result<Self, HostError> {
        let library = RUNTIMES.into_iter().find_map(loaded);
        let library = library.ok_or_else(|| Host::Torch.no_function("__cxa_throw"))?;
        let get = |name: &str| {
            address(library, name).or_else(|| {
                // On macOS the class is in the library around the runtime.
                address(loaded("libc++.1.dylib")?, name)
            })
        };
        let get = |name: &str| get(name).ok_or_else(|| Host::Torch.no_function(name));
        // SAFETY: the names are mangled from these signatures, or set by the Itanium C++ ABI.
        unsafe {
            Ok(Self {
                allocate: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(usize) -> *mut c_void,
                >(get("__cxa_allocate_exception")?),
                construct: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut c_void, *const c_char),
                >(get("_ZNSt13runtime_errorC1EPKc")?),
                throw: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void) -> !,
                >(get("__cxa_throw")?),
                type_info: get("_ZTISt13runtime_error")?,
                destroy: get("_ZNSt13runtime_errorD1Ev")?,
                delete: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(get(
                    "_ZdlPv",
                )?),
            })
        }
    }

    /// Makes an exception with this text, to be thrown.
    pub(super) fn make(&self, text: &CStr) -> Exception {
        // SAFETY: a `std::runtime_error` is two pointers at most, and copies its text; it is
        // constructed in memory of the runtime's.
        let object = unsafe {
            let object = (self.allocate)(16);
            (self.construct)(object, text.as_ptr());
            object
        };
        let exceptions = *self;
        Exception { object, exceptions }
    }

    /// Frees what C++ allocated by `new`.
    ///
    /// # Safety
    ///
    /// As for `operator delete`, of an object without a destructor.
    pub(super) unsafe fn delete(&self, object: *mut c_void) {
        // SAFETY: `new` made the object, which has no destructor, as this function requires.
        unsafe { (self.delete)(object) }
    }
}
