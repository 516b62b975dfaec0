//! [`TakeError`]: a failed conversion of a tensor by value.

use super::Tensor;
use crate::error::Error;
use std::fmt;

/// Why a tensor couldn't become a vector or a value of another crate, and the tensor as it was.
///
/// `?` turns it into an [`Error`], which drops the tensor.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
///
/// let tensor = Tensor::from(vec![1.0_f32, 2.0]);
/// let other = tensor.clone();
/// let refused = tensor.try_into_vec::<f32>().unwrap_err();
/// assert!(refused.error.to_string().contains("shared"));
/// // Without the other handle, the tensor is the vector's only owner.
/// drop(other);
/// assert_eq!(refused.tensor.try_into_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TakeError {
    /// Why.
    pub error: Error,
    /// What was to be converted.
    pub tensor: Tensor,
}

impl TakeError {
    #[cfg(feature = "crates")]
    #[allow(dead_code, reason = "not all crates take memory over")]
    #[cold]
    pub(crate) fn new(tensor: Tensor, error: impl Into<Error>) -> Self {
        let error = error.into();
        Self { error, tensor }
    }
}

impl From<(Tensor, Error)> for TakeError {
    fn from((tensor, error): (Tensor, Error)) -> Self {
        Self { error, tensor }
    }
}

impl From<TakeError> for Error {
    fn from(refused: TakeError) -> Self {
        refused.error
    }
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for TakeError {}
