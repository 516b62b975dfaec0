//! [`Lt`]: cuBLASLt's function table.

use super::header::{Algorithm, Handle, Lent, Proposal, Raw, Stream, Text, with_functions};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::library::{functions, load, problem};
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;

/// The oldest version that will do.
const OLDEST: usize = 120_000;

with_functions!(functions);

/// The library, loaded for good.
pub(super) struct Lt(Functions);

/// Calls a function of the library's, and makes an error of its answer that says which function it
/// was.
macro_rules! call {
    ($lt:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $lt.checked(stringify!($function), ($lt.functions().$function)($($argument),*))
    };
}
pub(super) use call;

impl Lt {
    /// Loads the library at a path, or of a name that the loader finds.
    pub(super) fn load(path: &Path) -> Result<Self, CudaError> {
        let refused = |error: libloading::Error| CudaError::BadBlas {
            path: path.to_owned(),
            problem: problem(&error),
        };
        // SAFETY: the path is one at which cuBLASLt is, or was said to be; its beginning asks for
        // nothing.
        let library = unsafe { load(path) }.map_err(refused)?;
        // SAFETY: it is cuBLASLt, whose header gives these types, and stays loaded.
        let functions = unsafe { Functions::look_up(library) }.map_err(refused)?;
        // SAFETY: it asks for nothing.
        let found = unsafe { (functions.cublasLtGetVersion)() };
        match found < OLDEST {
            true => Err(CudaError::OldBlas {
                path: path.to_owned(),
                found,
            }),
            false => Ok(Self(functions)),
        }
    }

    pub(super) fn functions(&self) -> &Functions {
        &self.0
    }

    pub(super) fn checked(&self, function: &'static str, code: c_int) -> Result<(), CudaError> {
        match code {
            0 => Ok(()),
            code => Err(self.failed(function, code)),
        }
    }

    #[cold]
    fn failed(&self, function: &'static str, code: c_int) -> CudaError {
        // SAFETY: it takes any number, and its texts stay.
        let text = unsafe { (self.0.cublasLtGetStatusName)(code) };
        let name = match text.is_null() {
            true => format!("code {code}"),
            // SAFETY: a string of C.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into(),
        };
        CudaError::Blas {
            function,
            code,
            name,
        }
    }
}
