//! [`HostError`]: why an op can't be one of a framework.

use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use thiserror::Error;

/// A framework that can have ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Host {
    /// PyTorch.
    Torch,
    /// TensorFlow.
    TensorFlow,
    /// XLA, which compiles JAX's functions.
    Xla,
    /// tvm-ffi, which TVM's runtime is built on.
    TvmFfi,
}

/// Why an op can't be one of a framework.
///
/// ```
/// use dlbridge::hosts::{Host, HostReason, torch};
/// use dlbridge::kernel::Registry;
///
/// // In a process without PyTorch.
/// let error = torch::publish(&Registry::global().op("add")?).unwrap_err();
/// assert_eq!((error.host, error.reason), (Host::Torch, HostReason::NotLoaded));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.incompatibility())]
#[non_exhaustive]
pub struct HostError {
    /// The framework.
    pub host: Host,
    /// What it can't have or do.
    pub reason: HostReason,
}

/// What a framework can't have or do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostReason {
    /// The process hasn't loaded the framework.
    NotLoaded,
    /// The loaded framework has no such C function.
    NoFunction {
        /// The function's name.
        name: String,
    },
    /// A part of the op's definition has no equivalent.
    NoEquivalent {
        /// The op's name.
        op: String,
        /// The part, and what is the matter with it.
        problem: String,
    },
    /// There is an op or a function of this name already.
    NameTaken {
        /// The name that the framework would have.
        name: String,
    },
    /// All places for ops in this process are taken.
    TooManyOps,
    /// The framework refused.
    Refused {
        /// What it was given: a name, or a definition in its language.
        what: String,
        /// Its own words, if it had any.
        problem: Option<String>,
    },
}

impl Host {
    /// The framework's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Torch => "PyTorch",
            Self::TensorFlow => "TensorFlow",
            Self::Xla => "XLA",
            Self::TvmFfi => "tvm-ffi",
        }
    }

    fn error(self, reason: HostReason) -> HostError {
        HostError { host: self, reason }
    }

    pub(super) fn not_loaded(self) -> HostError {
        self.error(HostReason::NotLoaded)
    }

    pub(super) fn no_function(self, name: &str) -> HostError {
        let name = name.to_owned();
        self.error(HostReason::NoFunction { name })
    }

    pub(super) fn no_equivalent(self, op: &str, problem: impl Into<String>) -> HostError {
        let (op, problem) = (op.to_owned(), problem.into());
        self.error(HostReason::NoEquivalent { op, problem })
    }

    pub(super) fn name_taken(self, name: &str) -> HostError {
        let name = name.to_owned();
        self.error(HostReason::NameTaken { name })
    }

    pub(super) fn too_many_ops(self) -> HostError {
        self.error(HostReason::TooManyOps)
    }

    pub(super) fn refused(self, what: &str, problem: Option<String>) -> HostError {
        let what = what.to_owned();
        self.error(HostReason::Refused { what, problem })
    }
}

impl HostError {
    /// Returns what doesn't fit, as all errors have it.
    pub fn incompatibility(&self) -> Incompatibility {
        let host = self.host.name();
        let (kind, reason) = match &self.reason {
            HostReason::NotLoaded => (Kind::Name, format!("{host} isn't loaded in this process")),
            HostReason::NoFunction { name } => (
                Kind::Name,
                format!("the loaded {host} has no function {name}"),
            ),
            HostReason::NoEquivalent { op, problem } => (
                Kind::Argument,
                format!("{host} can't have the op {op}: {problem}"),
            ),
            HostReason::NameTaken { name } => (Kind::Name, format!("{host} has {name} already")),
            HostReason::TooManyOps => (
                Kind::Memory,
                format!("{host} has as many ops of dlbridge as fit"),
            ),
            HostReason::Refused {
                what,
                problem: None,
            } => (Kind::Exchange, format!("{host} refused {what}")),
            HostReason::Refused {
                what,
                problem: Some(problem),
            } => (Kind::Exchange, format!("{host} refused {what}: {problem}")),
        };
        let fields = Incompatibility::from_reason(kind, reason);
        match self.reason {
            HostReason::NotLoaded => fields.with_remedy("import it first"),
            _ => fields,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Host;

    #[test]
    fn messages_name_the_framework_and_the_op() {
        let said = [
            Host::Torch.not_loaded(),
            Host::Torch.no_function("aoti_torch_library_def"),
            Host::TensorFlow.no_equivalent("add", "no dtype int4"),
            Host::TvmFfi.name_taken("dlbridge.add"),
            Host::Xla.too_many_ops(),
            Host::TvmFfi.refused("dlbridge.add", None),
            Host::TensorFlow.refused("Dlbridge>Add", Some("it is odd".to_owned())),
        ]
        .map(|error| error.to_string());
        assert_eq!(
            said,
            [
                "PyTorch isn't loaded in this process; import it first",
                "the loaded PyTorch has no function aoti_torch_library_def",
                "TensorFlow can't have the op add: no dtype int4",
                "tvm-ffi has dlbridge.add already",
                "XLA has as many ops of dlbridge as fit",
                "tvm-ffi refused dlbridge.add",
                "TensorFlow refused Dlbridge>Add: it is odd",
            ]
        );
    }
}
