//! Controls of the double for tests, besides the library's own functions.

use crate::state::State;
use std::ffi::{CStr, CString, c_char, c_int};

pub(crate) const BY_ANSWER: c_int = 1;
pub(crate) const BY_COUNT: c_int = 2;
pub(crate) const BY_STATE: c_int = 3;
pub(crate) const AS_INVALID: c_int = 4;

fn text(text: String) -> *mut c_char {
    CString::new(text).unwrap_or_default().into_raw()
}

/// Each choice and each product, one a line. To be given to [`cublasLtDoubleFreeText`].
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDoubleJournal() -> *mut c_char {
    text(State::lock().lines(false))
}

/// What was wrong, one mistake a line. To be given to [`cublasLtDoubleFreeText`].
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDoubleMistakes() -> *mut c_char {
    text(State::lock().lines(true))
}

/// Frees a text.
///
/// # Safety
///
/// It is one of the above, and this is its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtDoubleFreeText(text: *mut c_char) {
    // SAFETY: `text` came from `CString::into_raw` and is not used again, by this function's
    // contract.
    drop(unsafe { CString::from_raw(text) });
}

/// How many descriptors there are.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDoubleLive() -> i64 {
    State::lock().live() as i64
}

/// Makes the next call of a function return a code, and do nothing.
///
/// # Safety
///
/// The name is a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtDoubleFail(function: *const c_char, code: c_int) {
    // SAFETY: `function` is a C string, by this function's contract.
    let function = unsafe { CStr::from_ptr(function) };
    State::lock().failing = Some((function.to_string_lossy().into(), code));
}

/// How many bytes the fastest algorithm needs.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDoubleWorkspace(bytes: u64) {
    State::lock().workspace = bytes;
}

/// In which way no algorithm is found from now on.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDoubleRefuse(way: c_int) {
    State::lock().refusal = way;
}
