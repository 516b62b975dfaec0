//! Questions about the interpreter that the stable ABI of Python 3.12 lacks.
//!
//! The functions are looked up by name when the process runs, so that one wheel asks each version
//! of Python in the way that this version has.

use pyo3::ffi;
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::OnceLock;

type ThreadState = unsafe extern "C" fn() -> *mut ffi::PyThreadState;
type Finalizing = unsafe extern "C" fn() -> c_int;

/// The functions that the running interpreter has.
struct Functions {
    /// The state of the thread that is attached, without an error where there is none.
    current: Option<ThreadState>,
    is_finalizing: Option<Finalizing>,
}

impl Functions {
    #[inline]
    fn get() -> &'static Self {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        match FUNCTIONS.get() {
            Some(known) => known,
            // Found first, as threads without the GIL come here, too, and others may fork.
            None => {
                let found = Self::look_up();
                FUNCTIONS.get_or_init(|| found)
            }
        }
    }

    #[cold]
    fn look_up() -> Self {
        let current = [
            c"PyThreadState_GetUnchecked",
            c"_PyThreadState_UncheckedGet",
        ];
        let is_finalizing = [c"Py_IsFinalizing", c"_Py_IsFinalizing"];
        let first = |names: [&CStr; 2]| names.into_iter().find_map(symbol);
        // SAFETY: CPython's functions of these names have these signatures in every version that
        // has them.
        unsafe {
            Self {
                current: first(current)
                    .map(|found| transmute::<*mut c_void, ThreadState>(found.as_ptr())),
                is_finalizing: first(is_finalizing)
                    .map(|found| transmute::<*mut c_void, Finalizing>(found.as_ptr())),
            }
        }
    }
}

/// Returns the address of a function that the process has loaded.
#[cfg(unix)]
fn symbol(name: &CStr) -> Option<ptr::NonNull<c_void>> {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
    }
    // `RTLD_DEFAULT`: all that is loaded.
    let everything = if cfg!(target_vendor = "apple") { -2 } else { 0 };
    let everything = ptr::without_provenance_mut(everything as isize as usize);
    // SAFETY: the function of POSIX, with the handle that stands for everything, and a C string.
    ptr::NonNull::new(unsafe { dlsym(everything, name.as_ptr()) })
}

#[cfg(not(unix))]
fn symbol(_name: &CStr) -> Option<ptr::NonNull<c_void>> {
    None
}

/// Returns whether this thread is attached to the interpreter; `None` if Python doesn't report it.
///
/// PyO3 counts the attachments that it makes, and doesn't see when a library that is called
/// meanwhile gives the GIL up.
#[inline]
pub fn is_attached() -> Option<bool> {
    let current = Functions::get().current?;
    // SAFETY: Python allows both calls at any time, on any thread.
    unsafe {
        let state = ffi::PyGILState_GetThisThreadState();
        // Before 3.12, the current state is that of whichever thread has the GIL.
        Some(!state.is_null() && state == current())
    }
}

/// Returns whether Python knows this thread, attached or not.
#[inline]
pub fn is_of_python() -> bool {
    // SAFETY: Python allows this call at any time, on any thread.
    !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null()
}

/// Returns whether the interpreter is finalizing or gone: a detached thread never gets the GIL
/// again.
#[inline]
pub fn is_finalizing() -> bool {
    // SAFETY: Python allows this call at any time, on any thread.
    if unsafe { ffi::Py_IsInitialized() } == 0 {
        return true;
    }
    // SAFETY: Python allows this call at any time, on any thread.
    let answer = |function: Finalizing| unsafe { function() } != 0;
    Functions::get().is_finalizing.is_some_and(answer)
}
