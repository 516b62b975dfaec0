//! [`Lt`]: cuBLASLt's functions, and the numbers in its headers that they are called with.

use crate::cuda::error::CudaError;
use crate::cuda::library::{functions, load};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

/// The oldest version that will do.
const OLDEST: usize = 120_000;

/// `cublasLtHandle_t`
pub(super) type Handle = *mut c_void;
/// `cublasLtMatmulDesc_t`, `cublasLtMatrixLayout_t`, `cublasLtMatmulPreference_t`
pub(super) type Raw = *mut c_void;
/// `cublasLtMatmulAlgo_t`
pub(super) type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Proposal {
    pub(super) algorithm: Algorithm,
    pub(super) workspace: usize,
    pub(super) state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// `CUBLAS_STATUS_NOT_SUPPORTED`
pub(super) const NOT_SUPPORTED: c_int = 15;
/// `CUBLAS_OP_T`
pub(super) const TRANSPOSED: c_int = 1;

/// `cublasLtMatmulDescAttributes_t`
pub(super) mod operation {
    use std::ffi::c_int;
    pub(in crate::cuda::blas) const TRANSPOSE_A: c_int = 3;
    pub(in crate::cuda::blas) const TRANSPOSE_B: c_int = 4;
}

/// `cublasLtMatmulPreferenceAttributes_t`, and `CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE`
pub(super) mod preference {
    use std::ffi::c_int;
    pub(in crate::cuda::blas) const MOST_WORKSPACE: c_int = 1;
    pub(in crate::cuda::blas) const REDUCTION_SCHEMES: c_int = 3;
    /// Of A, B, C and D.
    pub(in crate::cuda::blas) const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];
    pub(in crate::cuda::blas) const IN_COMPUTE_TYPE: u32 = 2;
}

functions! {
    cublasLtGetVersion() -> usize;
    cublasLtGetStatusName(c_int) -> *const c_char;
    cublasLtCreate(*mut Handle) -> c_int;
    cublasLtMatmulDescCreate(*mut Raw, c_int, c_int) -> c_int;
    cublasLtMatmulDescDestroy(Raw) -> c_int;
    cublasLtMatmulDescSetAttribute(Raw, c_int, *const c_void, usize) -> c_int;
    cublasLtMatrixLayoutCreate(*mut Raw, c_int, u64, u64, i64) -> c_int;
    cublasLtMatrixLayoutDestroy(Raw) -> c_int;
    cublasLtMatmulPreferenceCreate(*mut Raw) -> c_int;
    cublasLtMatmulPreferenceDestroy(Raw) -> c_int;
    cublasLtMatmulPreferenceSetAttribute(Raw, c_int, *const c_void, usize) -> c_int;
    cublasLtMatmulAlgoGetHeuristic(
        Handle, Raw, Raw, Raw, Raw, Raw, Raw, c_int, *mut Proposal, *mut c_int
    ) -> c_int;
    cublasLtMatmul(
        Handle, Raw, *const c_void, *const c_void, Raw, *const c_void, Raw, *const c_void, *const c_void, Raw,
        *mut c_void, Raw, *const Algorithm, *mut c_void, usize, *mut c_void
    ) -> c_int;
}

/// The library, loaded for good.
pub(super) struct Lt(Functions);

/// Calls a function of the library's, and makes an error of its answer that says which function it was.
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
            problem: error.to_string(),
        };
        // SAFETY: the path is one at which cuBLASLt is, or was said to be; its beginning asks for nothing.
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
