//! Errors of registration and calls, with the names of op and argument.

use super::attribute::{Attribute, AttributeKind};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Error;
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
        /// What is wrong.
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
    #[error("{kernel} is no kernel of op {op:?}: {problem}")]
    BadKernel {
        /// The op.
        op: String,
        /// The kernel.
        kernel: String,
        /// What is wrong.
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
pub struct CallError {
    /// The op.
    pub op: String,
    /// What is wrong.
    pub reason: Box<Reason>,
}

/// What is wrong with a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// There is no op of this name.
    #[error("there is no such op; there are {}", listed(.known))]
    NoSuchOp {
        /// The ops there are.
        known: Vec<String>,
    },
    /// The op has no kernel for such a call.
    #[error("no kernel for {wanted}; {}", tried(.there_are))]
    NoKernel {
        /// What was called with.
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
    #[error("takes {wanted} tensors, and was given {given}")]
    TooMany {
        /// How many the op takes.
        wanted: usize,
        /// How many it was given.
        given: usize,
    },
    /// No argument has this name.
    #[error("there is no argument {argument:?}; there are {}", listed(.known))]
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
        /// What was given.
        found: Attribute,
    },
    /// Elements are of a type that the argument can't have.
    #[error("argument {argument:?} has elements of {found}, and {wanted}")]
    DType {
        /// The argument.
        argument: String,
        /// What its elements are.
        found: DType,
        /// What they should be, and why.
        wanted: String,
    },
    /// A shape that doesn't fit the op, or the other arguments.
    #[error("argument {argument:?} has shape {found:?}; {problem}")]
    Shape {
        /// The argument.
        argument: String,
        /// Its shape.
        found: Vec<usize>,
        /// What is wrong with it.
        problem: String,
    },
    /// The op's arguments don't fit together, or its attributes don't fit them.
    #[error("{0}")]
    Invalid(String),
    /// Arguments are on several devices.
    #[error("argument {argument:?} is on {found}, and others are on {wanted}")]
    Device {
        /// The argument.
        argument: String,
        /// Where it is.
        found: Device,
        /// Where it should be.
        wanted: Device,
    },
    /// An argument that is to be written is read-only.
    #[error("argument {argument:?} is to be written, and is read-only; pass a copy")]
    ReadOnly {
        /// The argument.
        argument: String,
    },
    /// Elements of an argument that is to be written are at one place.
    #[error(
        "argument {argument:?} is to be written, and elements of it are at one place; pass a copy"
    )]
    SelfOverlap {
        /// The argument.
        argument: String,
    },
    /// An argument that is to be written shares memory with another one.
    #[error("argument {argument:?} is to be written, and shares memory with {other:?}; {remedy}")]
    Aliased {
        /// The argument.
        argument: String,
        /// The other one.
        other: String,
        /// What can be done.
        remedy: &'static str,
    },
    /// Elements aren't where their type asks for.
    #[error(
        "argument {argument:?} begins at {address:#x}, which is not aligned to {alignment} bytes; pass a copy"
    )]
    Misaligned {
        /// The argument.
        argument: String,
        /// Where it begins.
        address: usize,
        /// What its type asks for.
        alignment: usize,
    },
    /// A byte that is no value of the element type.
    #[error("argument {argument:?} has a byte {value:#04x}, which is no {dtype}")]
    InvalidValue {
        /// The argument.
        argument: String,
        /// The byte.
        value: u8,
        /// The element type.
        dtype: DType,
    },
    /// An argument is no tensor that can be used in this way.
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

/// What a kernel, a rule or a factory says when it gives up.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Reason {
    pub(crate) fn of(self, op: &str) -> CallError {
        CallError {
            op: op.to_owned(),
            reason: Box::new(self),
        }
    }
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
