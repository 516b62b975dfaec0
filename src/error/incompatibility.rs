//! [`Incompatibility`]: what was expected of a tensor, what was found, and how to fix it.

use crate::device::Device;
use std::borrow::Cow;
use std::fmt;

/// What about a tensor doesn't fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IncompatibilityKind {
    /// The object isn't a tensor.
    Type,
    /// The element type.
    DType,
    /// The number of dimensions.
    Rank,
    /// The sizes.
    Shape,
    /// An index or an axis that the tensor doesn't have.
    Index,
    /// The strides, or another property of the arrangement in memory.
    Layout,
    /// The alignment of the data pointer.
    Alignment,
    /// The device.
    Device,
    /// The memory is read-only.
    ReadOnly,
    /// Several elements of a tensor that is written are in one place.
    Overlap,
    /// The memory is in use by another argument, another call or another handle.
    Alias,
    /// The tensor is tracked by autograd.
    RequiresGrad,
    /// The tensor is conjugated lazily.
    Conjugate,
    /// The tensor is negated lazily.
    Negative,
    /// Sub-byte elements are padded to whole bytes.
    Padding,
    /// A value that the element type doesn't have.
    Value,
    /// A name that nothing has: of an op, a framework, a device, an element type.
    Name,
    /// No kernel takes such a call, or the kernel gave up.
    Kernel,
    /// A copy is needed, and was not allowed.
    Copy,
    /// An argument is missing, superfluous, or of the wrong kind.
    Argument,
    /// There is not enough memory.
    Memory,
    /// Another reason of the producer or the consumer, which the message says.
    Exchange,
}

impl IncompatibilityKind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[
        Self::Type,
        Self::DType,
        Self::Rank,
        Self::Shape,
        Self::Index,
        Self::Layout,
        Self::Alignment,
        Self::Device,
        Self::ReadOnly,
        Self::Overlap,
        Self::Alias,
        Self::RequiresGrad,
        Self::Conjugate,
        Self::Negative,
        Self::Padding,
        Self::Value,
        Self::Name,
        Self::Kernel,
        Self::Copy,
        Self::Argument,
        Self::Memory,
        Self::Exchange,
    ];

    /// Returns the name, as in the attribute `kind` of Python's exceptions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::DType => "dtype",
            Self::Rank => "rank",
            Self::Shape => "shape",
            Self::Index => "index",
            Self::Layout => "layout",
            Self::Alignment => "alignment",
            Self::Device => "device",
            Self::ReadOnly => "readonly",
            Self::Overlap => "overlap",
            Self::Alias => "alias",
            Self::RequiresGrad => "requires_grad",
            Self::Conjugate => "conjugate",
            Self::Negative => "negative",
            Self::Padding => "padding",
            Self::Value => "value",
            Self::Name => "name",
            Self::Kernel => "kernel",
            Self::Copy => "copy",
            Self::Argument => "argument",
            Self::Memory => "memory",
            Self::Exchange => "exchange",
        }
    }
}

impl fmt::Display for IncompatibilityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a tensor can't be used here as it is: what was expected, what was found, and how to fix it.
///
/// Its text is made of its fields: `expected float32, got float64; cast it first`. In Python they
/// are the attributes `kind`, `found`, `wanted` and `remedy` of the exception.
///
/// # Examples
///
/// ```
/// use dlbridge::error::{Incompatibility, IncompatibilityKind};
///
/// let error = Incompatibility::new(IncompatibilityKind::DType, "float64", "float32")
///     .with_remedy("cast it with x.to(torch.float32)");
/// assert_eq!(error.kind, IncompatibilityKind::DType);
/// assert_eq!(
///     error.to_string(),
///     "expected float32, got float64; cast it with x.to(torch.float32)"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incompatibility {
    /// What doesn't fit.
    pub kind: IncompatibilityKind,
    /// What was found, where that can be said in a few words.
    pub found: Option<Cow<'static, str>>,
    /// What was expected instead.
    pub wanted: Option<Cow<'static, str>>,
    /// How to fix it, where there is a way.
    pub remedy: Option<Cow<'static, str>>,
    /// The device on which a copy of the tensor would fit, where one would.
    pub copy_to: Option<Device>,
    /// The sentence in place of the usual one.
    reason: Option<Cow<'static, str>>,
}

impl Incompatibility {
    /// Makes one of what was found and what was expected.
    #[cold]
    pub fn new(
        kind: IncompatibilityKind,
        found: impl Into<Cow<'static, str>>,
        wanted: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            found: Some(found.into()),
            wanted: Some(wanted.into()),
            ..Self::with_only(kind)
        }
    }

    /// Makes one that a sentence describes.
    #[cold]
    pub fn from_reason(kind: IncompatibilityKind, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: Some(reason.into()),
            ..Self::with_only(kind)
        }
    }

    fn with_only(kind: IncompatibilityKind) -> Self {
        Self {
            kind,
            found: None,
            wanted: None,
            remedy: None,
            copy_to: None,
            reason: None,
        }
    }

    /// Sets the sentence that says what is wrong, in place of `expected ..., got ...`.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets what was expected.
    #[must_use]
    pub fn with_wanted(mut self, wanted: impl Into<Cow<'static, str>>) -> Self {
        self.wanted = Some(wanted.into());
        self
    }

    /// Sets how to fix it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Sets on which device a copy of the tensor would fit.
    #[must_use]
    pub fn with_copy_to(mut self, device: impl Into<Option<Device>>) -> Self {
        self.copy_to = device.into();
        self
    }

    /// Sets the sentence to an error's text, without the remedy that the text ends with.
    pub(crate) fn with_text(
        self,
        text: String,
        remedy: Option<impl Into<Cow<'static, str>>>,
    ) -> Self {
        let Some(remedy) = remedy.map(Into::into) else {
            return self.with_reason(text);
        };
        let reason = text
            .strip_suffix(&*remedy)
            .and_then(|text| text.strip_suffix("; "));
        match reason {
            Some(reason) => self.with_reason(reason.to_owned()).with_remedy(remedy),
            None => {
                debug_assert!(false, "{text:?} doesn't end with {remedy:?}");
                self.with_reason(text)
            }
        }
    }

    /// Returns what is wrong, in a sentence without the remedy.
    pub fn reason(&self) -> Cow<'_, str> {
        match (&self.reason, &self.wanted, &self.found) {
            (Some(reason), _, _) => Cow::Borrowed(reason),
            (None, Some(wanted), Some(found)) => format!("expected {wanted}, got {found}").into(),
            (None, Some(wanted), None) => format!("expected {wanted}").into(),
            (None, None, Some(found)) => format!("unexpected {found}").into(),
            (None, None, None) => format!("unsuitable {}", self.kind).into(),
        }
    }
}

impl fmt::Display for Incompatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason())?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Incompatibility {}
