//! [`TvmFfi`]: the functions of the loaded tvm-ffi.

use super::value::{Bytes, Value};
use crate::dlpack::DLTensor;
use crate::hosts::lookup::{loaded, lookup_table};
use crate::hosts::{Host, HostError};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::OnceLock;

/// An object of tvm-ffi's.
pub(super) type Handle = *mut c_void;
/// A packed function: its data, arguments, their number, and the result.
type Packed = unsafe extern "C" fn(*mut c_void, *const Value, i32, *mut Value) -> i32;
/// What frees a function's data.
type Deleter = Option<unsafe extern "C" fn(*mut c_void)>;

lookup_table! {
    #[allow(non_snake_case, reason = "the names are tvm-ffi's")]
    struct Functions;
    required {
        fn TVMFFIFunctionCreate(*mut c_void, Packed, Deleter, *mut Handle) -> i32;
        fn TVMFFIFunctionSetGlobal(*const Bytes, Handle, i32) -> i32;
        fn TVMFFIFunctionGetGlobal(*const Bytes, *mut Handle) -> i32;
        fn TVMFFIFunctionCall(Handle, *const Value, i32, *mut Value) -> i32;
        fn TVMFFIErrorSetRaisedFromCStr(*const c_char, *const c_char);
        fn TVMFFIErrorMoveFromRaised(*mut Handle);
        fn TVMFFIEnvTensorAlloc(*mut DLTensor, *mut Handle) -> i32;
        fn TVMFFIObjectDecRef(Handle) -> i32;
    }
    optional {}
}

/// The names of the library.
const LIBRARIES: [&str; 2] = ["libtvm_ffi.so", "libtvm_ffi.dylib"];

/// The loaded tvm-ffi.
pub(super) struct TvmFfi {
    pub(super) functions: Functions,
}

impl TvmFfi {
    /// Returns the loaded tvm-ffi.
    pub(super) fn get() -> Result<&'static Self, HostError> {
        static TVM: OnceLock<TvmFfi> = OnceLock::new();
        if let Some(tvm) = TVM.get() {
            return Ok(tvm);
        }
        let library = LIBRARIES.into_iter().find_map(loaded);
        let library = library.ok_or_else(|| Host::TvmFfi.not_loaded())?;
        // SAFETY: the signatures are those of tvm-ffi's C functions since 0.1.
        let functions = unsafe { Functions::find(library, Host::TvmFfi)? };
        Ok(TVM.get_or_init(|| Self { functions }))
    }

    /// Returns a global function.
    pub(super) fn global(&self, name: &str) -> Option<Object<'_>> {
        let mut handle = ptr::null_mut();
        // SAFETY: the name is there for the time of the call, which writes a handle or null.
        unsafe { (self.functions.TVMFFIFunctionGetGlobal)(&Bytes::new(name), &mut handle) };
        // Lazily: the object of a null would be released, which ends the process in old releases.
        (!handle.is_null()).then(|| Object { tvm: self, handle })
    }

    /// Makes a function, which is given up, global. Returns whether that went well.
    pub(super) fn set_global(&self, name: &str, function: Handle) -> bool {
        let function = Object {
            tvm: self,
            handle: function,
        };
        // SAFETY: the name is there for the time of the call; the function is kept by tvm-ffi.
        unsafe {
            (self.functions.TVMFFIFunctionSetGlobal)(&Bytes::new(name), function.handle, 0) == 0
        }
    }

    /// Calls a global function that comes with tvm-ffi.
    ///
    /// # Safety
    ///
    /// The arguments are valid.
    pub(super) unsafe fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, String> {
        let function = self.global(name);
        let function = function.ok_or_else(|| format!("tvm-ffi has no function {name}"))?;
        let mut result = Value::NONE;
        // SAFETY: there are as many arguments, which are valid, and room for a result.
        let status = unsafe {
            let (first, count) = (arguments.as_ptr(), arguments.len() as i32);
            (self.functions.TVMFFIFunctionCall)(function.handle, first, count, &mut result)
        };
        match status {
            0 => Ok(result),
            _ => Err(self.take_error()),
        }
    }

    /// Takes the error that a function of tvm-ffi raised, and returns its text.
    pub(super) fn take_error(&self) -> String {
        let mut handle = ptr::null_mut();
        // SAFETY: it writes a handle, which is given up, or null.
        unsafe { (self.functions.TVMFFIErrorMoveFromRaised)(&mut handle) };
        if handle.is_null() {
            return "no reason was given".to_owned();
        }
        let error = Object { tvm: self, handle };
        // SAFETY: an error's object has two texts behind its header, of which the second is its
        // message.
        unsafe {
            let texts = error.handle.byte_add(Value::HEADER).cast::<[Bytes; 2]>();
            (*texts)[1].text()
        }
    }
}

/// An object that is released when it is dropped.
pub(super) struct Object<'t> {
    pub(super) tvm: &'t TvmFfi,
    pub(super) handle: Handle,
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        // SAFETY: the reference is this one's, and not used any more.
        unsafe { (self.tvm.functions.TVMFFIObjectDecRef)(self.handle) };
    }
}
