//! [`Answer`]: the result code of a driver call; `ask!` and `call!`, which make such calls.

use super::functions;
use crate::cuda::driver::error::CudaError;
use cudarc::driver::sys::CUresult;
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

/// Calls a function of the driver's, for its [`Answer`].
///
/// The driver must have been looked up before: [`Gpu`](crate::cuda::Gpu)s and what is made of them
/// prove that.
macro_rules! ask {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::cuda::driver::answer::Answer::new(
            stringify!($function),
            ($crate::cuda::driver::functions().$function)($($argument),*),
        )
    };
}
pub(in crate::cuda) use ask;

/// Calls a function of the driver's, and makes an error of its answer that says which function it
/// was.
macro_rules! call {
    ($($call:tt)*) => {
        $crate::cuda::driver::answer::ask!($($call)*).checked()
    };
}
pub(in crate::cuda) use call;

/// The result of a call of the driver, which may be a code that nothing here knows.
#[must_use = "the call may have failed"]
#[derive(Clone, Copy)]
pub(in crate::cuda) struct Answer {
    function: &'static str,
    code: c_int,
}

impl Answer {
    #[inline]
    pub(in crate::cuda) fn new(function: &'static str, code: c_int) -> Self {
        Self { function, code }
    }

    /// Returns whether it is this code.
    #[inline]
    pub(in crate::cuda) fn is(self, code: CUresult) -> bool {
        self.code == code as c_int
    }

    /// Returns an error that names the function, unless the call succeeded.
    #[inline]
    pub(in crate::cuda) fn checked(self) -> Result<(), CudaError> {
        match self.code {
            0 => Ok(()),
            _ => Err(self.failed()),
        }
    }

    #[cold]
    fn failed(self) -> CudaError {
        let functions = functions();
        let name = text(self.code, functions.cuGetErrorName);
        let description = text(self.code, functions.cuGetErrorString);
        CudaError::Driver {
            function: self.function,
            code: self.code as u32,
            name: name.unwrap_or_else(|| format!("code {}", self.code)),
            description: description
                .unwrap_or_else(|| "the driver has no description of it".to_owned()),
        }
    }
}

/// Returns what the driver says of a code; `None` where it doesn't know the code, or fails.
fn text(
    code: c_int,
    ask: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int,
) -> Option<String> {
    let mut text = ptr::null();
    // SAFETY: it takes any integer, may be called before the driver is started, and writes one
    // pointer.
    let answer = unsafe { ask(code, &mut text) };
    if answer != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver answered success with a pointer that isn't null: a static string of C.
    Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into())
}
