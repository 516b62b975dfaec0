//! [`Problem`]: the cache key of a plan, everything that the choice of an algorithm depends on.

use super::header;
use crate::dtype::DType;
use std::ffi::c_int;

/// Types that cuBLASLt multiplies for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::cuda) enum Numbers {
    F16,
    BF16,
    F32,
    F64,
}

impl Numbers {
    pub(in crate::cuda) fn of(dtype: DType) -> Option<Self> {
        match dtype {
            DType::F16 => Some(Self::F16),
            DType::BF16 => Some(Self::BF16),
            DType::F32 => Some(Self::F32),
            DType::F64 => Some(Self::F64),
            _ => None,
        }
    }

    /// Returns the dtype's `cudaDataType`.
    pub(super) fn code(self) -> c_int {
        match self {
            Self::F16 => header::F16,
            Self::BF16 => header::BF16,
            Self::F32 => header::F32,
            Self::F64 => header::F64,
        }
    }

    /// In which precision is calculated (`cublasComputeType_t`), and the type of factors: f32, of
    /// which nothing is cut off, as it would be in TF32; or f64.
    pub(super) fn calculated_in(self) -> (c_int, c_int) {
        match self {
            Self::F64 => (header::IN_F64, header::F64),
            _ => (header::IN_F32, header::F32),
        }
    }
}

/// How a matrix lies in memory: columns one after another, or rows, which cuBLASLt calls
/// transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::cuda) struct Stored {
    pub(in crate::cuda) is_transposed: bool,
    /// How many elements further the next one begins.
    pub(in crate::cuda) leading: i64,
    /// The alignment of the address, at most 256.
    pub(in crate::cuda) alignment: u32,
}

/// A product: `a` of `rows` and `inner` columns, `b` of `inner` rows, and what comes of it, which
/// isn't transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::cuda) struct Problem {
    pub(in crate::cuda) numbers: Numbers,
    pub(in crate::cuda) rows: u64,
    pub(in crate::cuda) columns: u64,
    pub(in crate::cuda) inner: u64,
    pub(in crate::cuda) a: Stored,
    pub(in crate::cuda) b: Stored,
    pub(in crate::cuda) out: Stored,
}
