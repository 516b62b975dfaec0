//! Errors of exports.

use crate::dtype::DType;

/// Why a tensor can't be exported as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The legacy ABI can't say that memory must not be written.
    #[error(
        "a read-only tensor can't be exported through the legacy DLManagedTensor, which can't mark it; export the versioned one, or copy it first"
    )]
    LegacyReadOnly,
    /// The legacy ABI can't say that elements are padded.
    #[error(
        "padded {dtype} elements can't be exported through the legacy DLManagedTensor, which can't mark them; export the versioned one"
    )]
    LegacyPadded {
        /// The element type.
        dtype: DType,
    },
}
