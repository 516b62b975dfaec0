//! Lookup of the library that a function is from.
//!
//! Plain Python can give a class another class's exchange table; its functions then read objects of
//! a layout that they don't know. The library's file tells whose they are.

use crate::python::frameworks::{OTHER, TableVendor, vendor_of_library};
use std::ffi::c_void;

/// Returns the framework whose library has the function at an address; [`OTHER`] for functions of
/// other libraries, and of none.
pub(super) fn vendor_of(function: *const c_void) -> &'static TableVendor {
    let Some(path) = path_of(function) else {
        return &OTHER;
    };
    vendor_of_library(path.rsplit(['/', '\\']).next().unwrap_or(&path))
}

#[cfg(unix)]
fn path_of(function: *const c_void) -> Option<String> {
    use std::ffi::{CStr, c_char, c_int};

    /// The struct that the C library fills.
    #[repr(C)]
    struct Info {
        file: *const c_char,
        base: *mut c_void,
        symbol: *const c_char,
        address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, info: *mut Info) -> c_int;
    }

    let mut info = std::mem::MaybeUninit::<Info>::zeroed();
    // SAFETY: any address may be asked about, and there is room for the answer; of pointers, NULL
    // is a value.
    let info = unsafe {
        if dladdr(function, info.as_mut_ptr()) == 0 {
            return None;
        }
        info.assume_init()
    };
    if info.file.is_null() {
        return None;
    }
    // SAFETY: a C string that the loader keeps for as long as the library is there, and its
    // function was just found.
    let file = unsafe { CStr::from_ptr(info.file) };
    Some(file.to_string_lossy().into_owned())
}

#[cfg(windows)]
fn path_of(function: *const c_void) -> Option<String> {
    const FROM_ADDRESS: u32 = 0x4;
    const UNCHANGED_REFCOUNT: u32 = 0x2;
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> i32;
        fn GetModuleFileNameW(module: *mut c_void, name: *mut u16, size: u32) -> u32;
    }

    let mut module = std::ptr::null_mut();
    let mut name = [0; 4096];
    // SAFETY: any address may be asked about; there is room for the handle, and for as long a name
    // as is said.
    let length = unsafe {
        let flags = FROM_ADDRESS | UNCHANGED_REFCOUNT;
        if GetModuleHandleExW(flags, function, &mut module) == 0 {
            return None;
        }
        GetModuleFileNameW(module, name.as_mut_ptr(), name.len() as u32)
    };
    Some(String::from_utf16_lossy(name.get(..length as usize)?).to_lowercase())
}

#[cfg(not(any(unix, windows)))]
fn path_of(_: *const c_void) -> Option<String> {
    None
}
