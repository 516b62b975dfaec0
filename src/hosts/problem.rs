//! [`Problem`]: a failed call, as adapters hand it to their frameworks.

use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::kernel::{CallError, Failure, Reason};
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) class: Class,
    pub(super) text: String,
    /// The error of the call, if there was one.
    #[cfg_attr(
        not(feature = "python"),
        expect(dead_code, reason = "exceptions are made of it")
    )]
    pub(super) error: Option<CallError>,
}

/// What a problem is about, for frameworks whose errors have classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// An argument has the wrong type, or is missing.
    Type,
    /// An argument's shape or value.
    Value,
    /// An index or an axis that isn't there.
    Index,
    /// Memory can't be had.
    Memory,
    /// The kernel failed or panicked.
    Kernel,
}

impl Problem {
    pub(super) fn new(class: Class, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            class,
            text,
            error: None,
        }
    }

    /// Returns the text for functions in C.
    pub(super) fn c_text(&self) -> CString {
        CString::new(self.text.replace('\0', "")).unwrap_or_default()
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        let text = error.to_string();
        let class = match &*error.reason {
            Reason::NoSuchOp { .. } | Reason::NoKernel { .. } => Class::Type,
            Reason::Allocation { error, .. } => match error.is::<Incompatibility>() {
                true => Class::Type,
                false => Class::Memory,
            },
            Reason::Kernel { .. } | Reason::Factory { .. } | Reason::Refused(_) => Class::Kernel,
            reason => match reason.incompatibility().kind {
                Kind::DType | Kind::Type | Kind::Argument => Class::Type,
                Kind::Index => Class::Index,
                _ => Class::Value,
            },
        };
        Self {
            error: Some(error),
            ..Self::new(class, text)
        }
    }
}

/// Returns the failure of a result that a framework has no dtype for.
#[cold]
pub(super) fn no_dtype(framework: &str, dtype: DType) -> Failure {
    let reason = format!("{framework} has no dtype {dtype}");
    Incompatibility::new(
        Kind::DType,
        dtype.to_string(),
        format!("a dtype of {framework}'s"),
    )
    .with_reason(reason)
    .into()
}

/// Runs a call of an op; a panic of its kernel is a problem.
pub(super) fn guarded<T>(
    op: &str,
    call: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "the kernel panicked".to_owned());
        Err(Problem::new(Class::Kernel, format!("{op}: {text}")))
    })
}

#[cfg(test)]
mod tests {
    use super::{Class, Problem, guarded};

    #[test]
    fn panics_are_problems_with_their_text() {
        let problem = guarded::<()>("add", || panic!("{} is negative", -1)).unwrap_err();
        assert_eq!(
            (problem.class, &*problem.text),
            (Class::Kernel, "add: -1 is negative")
        );
        let problem = guarded::<()>("add", || std::panic::panic_any(7)).unwrap_err();
        assert_eq!(problem.text, "add: the kernel panicked");
        assert_eq!(
            Problem::new(Class::Value, "a\0b").c_text().as_c_str(),
            c"ab"
        );
    }
}
