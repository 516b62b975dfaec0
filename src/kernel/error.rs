//! Errors of registration and calls, with the names of op and argument.

use super::argument_error::ArgumentError;
use super::attribute::{Attribute, AttributeKind};
use super::nearest::nearest;
use crate::error::{Error, Incompatibility, IncompatibilityKind as Kind, miscounted};
use std::fmt;

/// Why an op or a kernel can't be registered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// There is an op of this name, defined otherwise.
    #[error("op {op:?} is defined already, and otherwise")]
    OpExists {
        /// The op.
        op: String,
    },
    /// The op's definition contradicts itself.
    #[error("op {op:?} makes no sense: {problem}")]
    BadOp {
        /// The op.
        op: String,
        /// The problem.
        problem: String,
    },
    /// The kernel's op isn't defined.
    #[error("kernel {kernel} registered for unknown op {op:?}")]
    NoSuchOp {
        /// The op.
        op: String,
        /// The kernel.
        kernel: String,
    },
    /// The kernel isn't one of its op.
    #[error("{kernel} can't be a kernel of op {op:?}: {problem}")]
    BadKernel {
        /// The op.
        op: String,
        /// The kernel.
        kernel: String,
        /// The problem.
        problem: String,
    },
    /// Another kernel matches some calls equally well.
    #[error(
        "{kernel} matches calls of op {op:?} as well as {other} does; give one of them a priority, a label, or other constraints"
    )]
    Ambiguous {
        /// The op.
        op: String,
        /// The kernel.
        kernel: String,
        /// The one that was there before.
        other: String,
    },
}

impl RegistrationError {
    /// Returns the op that the error is about.
    pub fn op(&self) -> &str {
        match self {
            Self::OpExists { op }
            | Self::BadOp { op, .. }
            | Self::NoSuchOp { op, .. }
            | Self::BadKernel { op, .. }
            | Self::Ambiguous { op, .. } => op,
        }
    }
}

/// Why a call can't be made, or went wrong: which op's, and why.
#[derive(Debug, thiserror::Error)]
#[error("{op}: {reason}")]
#[non_exhaustive]
pub struct CallError {
    /// The op.
    pub op: String,
    /// The problem.
    pub reason: Box<Reason>,
}

/// Reason of a failed call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// There is no op of this name.
    #[error("there is no such op; there are {}{}", listed(.known), suggested(.op, .known))]
    NoSuchOp {
        /// The name.
        op: String,
        /// The ops there are.
        known: Vec<String>,
    },
    /// The op has no kernel for such a call.
    #[error("no kernel for {wanted}; {}", tried(.there_are))]
    NoKernel {
        /// The arguments of the call.
        wanted: String,
        /// The kernels there are, each with the reason why it doesn't match this call.
        there_are: Vec<String>,
    },
    /// One of the op's kernels was refused when the program started.
    #[error("the op can't be used: {0}")]
    Refused(RegistrationError),
    /// An argument is missing.
    #[error("argument {argument:?} is missing")]
    Missing {
        /// The argument.
        argument: String,
    },
    /// There are too many arguments.
    #[error("{}", miscounted(*.wanted, "tensor", *.given))]
    TooMany {
        /// How many the op takes.
        wanted: usize,
        /// How many it was given.
        given: usize,
    },
    /// No argument has this name.
    #[error(
        "there is no argument {argument:?}; there are {}{}",
        listed(.known),
        suggested(.argument, .known)
    )]
    NoSuchArgument {
        /// The name.
        argument: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// An argument was given twice.
    #[error("argument {argument:?} was given twice")]
    GivenTwice {
        /// The argument.
        argument: String,
    },
    /// An attribute has a value that isn't of its kind.
    #[error("attribute {attribute:?} is of kind {wanted}, not {found}")]
    Attribute {
        /// The attribute.
        attribute: String,
        /// Its kind.
        wanted: AttributeKind,
        /// The given value.
        found: Attribute,
    },
    /// An argument isn't what the op, its kernel or the other arguments ask for; the kernel may
    /// have said so itself, by an [`ArgumentError`].
    #[error("{error}")]
    Incompatible {
        /// The argument.
        argument: String,
        /// What was expected, what was found, and how to fix it.
        error: Box<Incompatibility>,
    },
    /// The op's arguments don't fit together, or its attributes don't fit them.
    #[error("{0}")]
    Invalid(String),
    /// An argument's tensor can't be used in this way.
    #[error("argument {argument:?}: {error}")]
    Tensor {
        /// The argument.
        argument: String,
        /// Why.
        error: Error,
    },
    /// A result can't be made.
    #[error("the result {argument:?} can't be made: {error}")]
    Allocation {
        /// The result.
        argument: String,
        /// Why.
        error: Failure,
    },
    /// The kernel's factory refused to make one.
    #[error("{kernel} can't be made: {failure}")]
    Factory {
        /// The kernel.
        kernel: String,
        /// In the factory's words.
        failure: Failure,
    },
    /// The kernel gave up.
    #[error("{kernel} failed: {failure}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// In the kernel's words.
        failure: Failure,
    },
}

/// Error of a kernel, a rule or a factory. One about an argument is an
/// [`ArgumentError`](super::ArgumentError): its fields become the call's.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Reason {
    /// Makes one of a kernel's, a rule's or a factory's error. `other` describes those that aren't
    /// about an argument.
    #[cold]
    pub(super) fn refused(failure: Failure, other: impl FnOnce(Failure) -> Self) -> Self {
        match failure.downcast::<ArgumentError>() {
            Ok(refused) => {
                let ArgumentError { argument, error } = *refused;
                Self::Incompatible { argument, error }
            }
            Err(failure) => other(failure),
        }
    }

    /// Makes one about an argument. `problem` is what follows its name in the sentence.
    #[cold]
    pub(super) fn incompatible(argument: &str, problem: &str, error: Incompatibility) -> Self {
        Self::Incompatible {
            argument: argument.to_owned(),
            error: Box::new(error.with_reason(format!("argument {argument:?} {problem}"))),
        }
    }

    /// Makes one about an argument's shape. `why` is the end of the sentence.
    #[cold]
    pub(super) fn shape(argument: &str, found: &[usize], wanted: String, why: &str) -> Self {
        let problem = format!("has shape {found:?}; {why}");
        let error = Incompatibility::new(Kind::Shape, format!("{found:?}"), wanted);
        Self::incompatible(argument, &problem, error)
    }

    /// Returns what was expected and what was found, as data. Its text is that of the reason.
    #[cold]
    pub fn incompatibility(&self) -> Incompatibility {
        let fields = match self {
            Self::Incompatible { error, .. } => return (**error).clone(),
            Self::NoSuchOp { op, known } => {
                let fields = Incompatibility::from_reason(Kind::Name, "");
                let fields = fields.with_wanted(listed(known).to_string());
                return fields.with_text(self.to_string(), suggestion(op, known));
            }
            Self::NoKernel { wanted, there_are } => {
                Incompatibility::new(Kind::Kernel, wanted.clone(), there_are.join("\n"))
            }
            Self::Missing { argument } => {
                Incompatibility::new(Kind::Argument, "nothing", argument.clone())
            }
            Self::TooMany { wanted, given } => {
                Incompatibility::new(Kind::Argument, given.to_string(), wanted.to_string())
            }
            Self::NoSuchArgument { argument, known } => {
                let wanted = listed(known).to_string();
                let fields = Incompatibility::new(Kind::Argument, argument.clone(), wanted);
                return fields.with_text(self.to_string(), suggestion(argument, known));
            }
            Self::GivenTwice { argument } => {
                Incompatibility::new(Kind::Argument, argument.clone(), "each argument once")
            }
            Self::Attribute { wanted, found, .. } => {
                Incompatibility::new(Kind::Argument, found.to_string(), wanted.to_string())
            }
            Self::Tensor { argument, error } => {
                let fields = error.incompatibility();
                let reason = format!("argument {argument:?}: {}", fields.reason());
                return fields.with_reason(reason);
            }
            Self::Allocation { argument, error } => match error.downcast_ref::<Error>() {
                Some(error) => {
                    let fields = error.incompatibility();
                    let reason = fields.reason();
                    let reason = format!("the result {argument:?} can't be made: {reason}");
                    return fields.with_reason(reason);
                }
                None => Incompatibility::from_reason(Kind::Exchange, ""),
            },
            Self::Invalid(_) => Incompatibility::from_reason(Kind::Shape, ""),
            Self::Refused(_) | Self::Factory { .. } | Self::Kernel { .. } => {
                Incompatibility::from_reason(Kind::Kernel, "")
            }
        };
        fields.with_reason(self.to_string())
    }

    pub(crate) fn of(self, op: &str) -> CallError {
        CallError {
            op: op.to_owned(),
            reason: Box::new(self),
        }
    }
}

/// Returns the remedy for an unknown name, if there is one like it.
fn suggestion(name: &str, known: &[String]) -> Option<String> {
    nearest(name, known).map(|nearest| format!("did you mean {nearest:?}?"))
}

/// Ends a text with the remedy, if there is one.
fn suggested(name: &str, known: &[String]) -> String {
    suggestion(name, known).map_or(String::new(), |remedy| format!("; {remedy}"))
}

fn listed(names: &[String]) -> impl fmt::Display {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

fn tried(there_are: &[String]) -> String {
    if there_are.is_empty() {
        return "there are none".to_owned();
    }
    format!("there are:\n  {}", there_are.join("\n  "))
}
