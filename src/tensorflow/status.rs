//! [`Status`]: the result of a function of TensorFlow.

use super::error::TensorFlowError;
use super::functions::TF_Status;
use super::library::TensorFlow;
use std::ffi::{CStr, CString};

/// A status, which is deleted with this.
pub(super) struct Status {
    tensorflow: TensorFlow,
    status: *mut TF_Status,
}

impl Status {
    pub(super) fn new(tensorflow: TensorFlow) -> Self {
        // SAFETY: the function takes nothing, and never fails.
        let status = unsafe { (tensorflow.functions().TF_NewStatus)() };
        Self { tensorflow, status }
    }

    pub(super) fn as_ptr(&mut self) -> *mut TF_Status {
        self.status
    }

    /// Returns the error of the last call, if it failed.
    pub(super) fn check(&self, function: &'static str) -> Result<(), TensorFlowError> {
        let functions = self.tensorflow.functions();
        // SAFETY: the status lives until `self` is dropped.
        match unsafe { (functions.TF_GetCode)(self.status) } {
            0 => Ok(()),
            code => Err(self.error(function, code)),
        }
    }

    #[cold]
    fn error(&self, function: &'static str, code: i32) -> TensorFlowError {
        // SAFETY: the status lives until `self` is dropped, and so does its message, a string of C.
        let message =
            unsafe { CStr::from_ptr((self.tensorflow.functions().TF_Message)(self.status)) };
        TensorFlowError::Status {
            function,
            code: name(code),
            message: message.to_string_lossy().into_owned(),
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        // SAFETY: the status came from `TF_NewStatus`, and is deleted once.
        unsafe { (self.tensorflow.functions().TF_DeleteStatus)(self.status) }
    }
}

/// Returns the name of a code.
fn name(code: i32) -> &'static str {
    const NAMES: [&str; 17] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    let index = usize::try_from(code).unwrap_or(usize::MAX);
    NAMES.get(index).copied().unwrap_or("an unknown code")
}

/// Returns a name as a string of C.
pub(super) fn c_name(name: &str) -> Result<CString, TensorFlowError> {
    CString::new(name).map_err(|_| TensorFlowError::Name {
        name: name.to_owned(),
    })
}
