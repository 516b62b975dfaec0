//! Types and constants of cuBLASLt's headers; `tests/cublaslt.rs` includes this file and compares
//! it with them.

use std::ffi::{c_char, c_int, c_void};

/// `cublasLtHandle_t`
pub(super) type Handle = *mut c_void;
/// `cublasLtMatmulDesc_t`, `cublasLtMatrixLayout_t`, `cublasLtMatmulPreference_t`
pub(super) type Raw = *mut c_void;
/// `cudaStream_t`
pub(super) type Stream = *mut c_void;
/// The lent library.
pub(super) type Lent = *const c_void;
/// `cublasLtMatmulAlgo_t`
pub(super) type Algorithm = [u64; 8];

/// `cublasLtMatmulHeuristicResult_t`
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Proposal {
    pub(super) algorithm: Algorithm,
    pub(super) workspace: usize,
    pub(super) state: c_int,
    pub(super) waves: f32,
    pub(super) reserved: [c_int; 4],
}

/// `CUBLAS_STATUS_INVALID_VALUE`
pub(super) const INVALID_VALUE: c_int = 7;
/// `CUBLAS_STATUS_NOT_SUPPORTED`
pub(super) const NOT_SUPPORTED: c_int = 15;
/// `CUBLAS_OP_T`
pub(super) const TRANSPOSED: c_int = 1;

/// `CUDA_R_16F`
pub(super) const F16: c_int = 2;
/// `CUDA_R_16BF`
pub(super) const BF16: c_int = 14;
/// `CUDA_R_32F`
pub(super) const F32: c_int = 0;
/// `CUDA_R_64F`
pub(super) const F64: c_int = 1;

/// `CUBLAS_COMPUTE_32F`
pub(super) const IN_F32: c_int = 68;
/// `CUBLAS_COMPUTE_64F`
pub(super) const IN_F64: c_int = 70;

/// `CUBLASLT_MATMUL_DESC_TRANSA`
pub(super) const TRANSPOSE_A: c_int = 3;
/// `CUBLASLT_MATMUL_DESC_TRANSB`
pub(super) const TRANSPOSE_B: c_int = 4;

/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`
pub(super) const MOST_WORKSPACE: c_int = 1;
/// `CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK`
pub(super) const REDUCTION_SCHEMES: c_int = 3;
/// `CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE`
pub(super) const IN_COMPUTE_TYPE: u32 = 2;
/// `CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES`, and those of B, C and D.
pub(super) const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];

/// `char*`
pub(super) type Text = *const c_char;

/// Hands the functions that are called to a macro.
macro_rules! with_functions {
    ($then:ident) => {
        $then! {
            cublasLtGetVersion() -> usize;
            cublasLtGetStatusName(c_int) -> Text;
            cublasLtCreate(*mut Handle) -> c_int;
            cublasLtMatmulDescCreate(*mut Raw, c_int, c_int) -> c_int;
            cublasLtMatmulDescDestroy(Raw) -> c_int;
            cublasLtMatmulDescSetAttribute(Raw, c_int, Lent, usize) -> c_int;
            cublasLtMatrixLayoutCreate(*mut Raw, c_int, u64, u64, i64) -> c_int;
            cublasLtMatrixLayoutDestroy(Raw) -> c_int;
            cublasLtMatmulPreferenceCreate(*mut Raw) -> c_int;
            cublasLtMatmulPreferenceDestroy(Raw) -> c_int;
            cublasLtMatmulPreferenceSetAttribute(Raw, c_int, Lent, usize) -> c_int;
            cublasLtMatmulAlgoGetHeuristic(
                Handle, Raw, Raw, Raw, Raw, Raw, Raw, c_int, *mut Proposal, *mut c_int
            ) -> c_int;
            cublasLtMatmul(
                Handle, Raw, Lent, Lent, Raw, Lent, Raw, Lent, Lent, Raw, *mut c_void, Raw,
                *const Algorithm, *mut c_void, usize, Stream
            ) -> c_int;
        }
    };
}
pub(super) use with_functions;
