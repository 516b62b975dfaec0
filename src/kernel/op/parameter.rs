//! Parameters of an op: tensors and attributes, and the element types that they have.

use crate::dtype::DType;
use crate::kernel::attribute::{Attribute, AttributeKind};

/// A tensor that an op takes or gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kernel) struct Parameter {
    pub(in crate::kernel) name: String,
    pub(in crate::kernel) role: Role,
    pub(in crate::kernel) kind: Kind,
}

/// Access to a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel) enum Role {
    Input,
    /// Read and written.
    InOut,
    Output,
}

/// Element types of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kernel) enum Kind {
    Any,
    Is(DType),
    /// The type variable of this number.
    Variable(usize),
    /// The value of the attribute of this name.
    Attribute(String),
}

/// A parameter's element type in an op's definition: a type variable, by its name; the type itself;
/// or [`ElementType::Any`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementType {
    /// Any, and another one for each parameter.
    Any,
    /// This one.
    Is(DType),
    /// The one that all parameters of this variable have.
    Variable(String),
    /// The one that an attribute of kind [`AttributeKind::DType`] says; for outputs.
    Attribute(String),
}

impl From<&str> for ElementType {
    fn from(variable: &str) -> Self {
        Self::Variable(variable.to_owned())
    }
}

impl From<DType> for ElementType {
    fn from(dtype: DType) -> Self {
        Self::Is(dtype)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::kernel) struct AttributeDefinition {
    pub(in crate::kernel) name: String,
    pub(in crate::kernel) kind: AttributeKind,
    pub(in crate::kernel) default: Option<Attribute>,
}
