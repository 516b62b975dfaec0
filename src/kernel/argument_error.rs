//! [`ArgumentError`]: why a kernel or a rule refuses an argument.

use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use std::fmt;

/// Why a kernel, a rule or a factory refuses an argument: a [`Failure`](super::Failure) with
/// fields.
///
/// A call that fails with it has the reason [`Reason::Incompatible`](super::Reason::Incompatible).
/// In Python it is an exception of the kind's class: `IndexError` for an [index](Self::index) or an
/// [axis](Self::axis), `TypeError` for a [dtype](Self::dtype), `ValueError` for a
/// [value](Self::value) or a [shape](Self::shape). A failure of any other type is a `RuntimeError`
/// there, or a `ValueError` if it is a shape rule's.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::error::IncompatibilityKind;
/// use dlbridge::kernel::{ArgumentError, Kernel, Op, Registry, Source, Target};
///
/// let registry = Registry::new();
/// registry.define(Op::new("log2").input("x", "T").output("y", "T"))?;
/// let log2 = |x: Source<'_, u32>, y: Target<'_, u32>| {
///     if x.iter().any(|x| x == 0) {
///         return Err(ArgumentError::value("x", "0", "positive numbers"));
///     }
///     y.map(&x, u32::ilog2);
///     Ok(())
/// };
/// registry.register(Kernel::new("log2").function(log2))?;
/// let log2 = registry.op("log2")?;
/// let error = log2.call().input(&Tensor::from([8_u32, 0])).make().unwrap_err();
/// assert_eq!(error.to_string(), "log2: expected positive numbers for x, got 0");
/// assert_eq!(error.reason.incompatibility().kind, IncompatibilityKind::Value);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentError {
    pub(super) argument: String,
    pub(super) error: Box<Incompatibility>,
}

impl ArgumentError {
    /// Makes one about an argument or an attribute of this name.
    #[cold]
    pub fn new(argument: impl Into<String>, error: Incompatibility) -> Self {
        Self {
            argument: argument.into(),
            error: Box::new(error),
        }
    }

    #[cold]
    fn expected(kind: Kind, argument: &str, found: impl Into<String>, wanted: &str) -> Self {
        let found = found.into();
        let reason = format!("expected {wanted} for {argument}, got {found}");
        let error = Incompatibility::new(kind, found, wanted.to_owned());
        Self::new(argument, error.with_reason(reason))
    }

    /// Makes one of an index that an axis doesn't have.
    #[cold]
    pub fn index(argument: &str, index: i64, axis: usize, size: usize) -> Self {
        let error = Incompatibility::new(Kind::Index, index.to_string(), interval(size));
        let reason = format!("index {index} is out of bounds for axis {axis} with size {size}");
        Self::new(argument, error.with_reason(reason))
    }

    /// Makes one of an axis that a tensor doesn't have. The argument is called `axis`.
    #[cold]
    pub fn axis(axis: i64, rank: usize) -> Self {
        let error = Incompatibility::new(Kind::Index, axis.to_string(), interval(rank));
        let reason = format!("axis {axis} is out of bounds for a tensor of rank {rank}");
        Self::new("axis", error.with_reason(reason))
    }

    /// Makes one of a value that isn't allowed.
    #[cold]
    pub fn value(argument: &str, found: impl Into<String>, wanted: &str) -> Self {
        Self::expected(Kind::Value, argument, found, wanted)
    }

    /// Makes one of a tensor of another shape.
    #[cold]
    pub fn shape(argument: &str, found: &[usize], wanted: &str) -> Self {
        Self::expected(Kind::Shape, argument, format!("{found:?}"), wanted)
    }

    /// Makes one of a tensor of another dtype.
    #[cold]
    pub fn dtype(argument: &str, found: DType, wanted: &str) -> Self {
        Self::expected(Kind::DType, argument, found.to_string(), wanted)
    }

    /// Sets the sentence that says what is wrong, in place of `expected ..., got ...`.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.error = Box::new(self.error.with_reason(reason.into()));
        self
    }

    /// Sets how to fix it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.error = Box::new(self.error.with_remedy(remedy.into()));
        self
    }

    /// Returns the argument's name.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// Returns what was expected, what was found, and how to fix it.
    pub fn incompatibility(&self) -> &Incompatibility {
        &self.error
    }
}

/// Returns the indices of an axis of this size.
fn interval(size: usize) -> String {
    match size {
        0 => "none".to_owned(),
        size => format!("-{size} to {}", size - 1),
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ArgumentError {}
