//! Parameters of an op: tensors and attributes, and the element types that they have.

use crate::dtype::{DType, TypeCode};
use crate::kernel::attribute::{Attribute, AttributeKind};

/// A tensor that an op takes or gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::kernel) struct Parameter {
    pub(in crate::kernel) name: String,
    pub(in crate::kernel) role: Role,
    pub(in crate::kernel) kind: Kind,
    pub(in crate::kernel) presence: Presence,
}

/// Access to a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel) enum Role {
    Input,
    /// Read and written.
    InOut,
    Output,
}

/// How many tensors a call gives for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel) enum Presence {
    /// One.
    Required,
    /// One or none.
    Optional,
    /// One or more.
    Variadic,
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
    /// The value of the attribute of this name, or the type variable of this number.
    AttributeOr(String, usize),
    /// The value of the attribute of this name, or the type of sums of the type variable of this
    /// number.
    AttributeOrSum(String, usize),
}

/// Returns the dtype of sums of elements in the [array API standard](
/// https://data-apis.org/array-api/latest/API_specification/generated/array_api.sum.html).
pub(in crate::kernel) fn sum_dtype(dtype: DType) -> DType {
    let is_small = dtype.lanes() == 1 && dtype.bits() <= 64;
    match dtype.code() {
        TypeCode::Int if is_small => DType::I64,
        TypeCode::UInt if is_small => DType::U64,
        _ => dtype,
    }
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
    /// The one that an attribute of kind [`AttributeKind::OptionalDType`] says, or that of a
    /// variable where the attribute is `None`; for outputs.
    AttributeOr {
        /// The attribute.
        attribute: String,
        /// The variable, of at least one input.
        variable: String,
    },
    /// The one that an attribute of kind [`AttributeKind::OptionalDType`] says, or where the
    /// attribute is `None` that of sums of a variable's elements: int64 of signed integers, uint64
    /// of unsigned ones, and otherwise the variable's own; for outputs.
    AttributeOrSum {
        /// The attribute.
        attribute: String,
        /// The variable, of at least one input.
        variable: String,
    },
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
