//! [`ShapeContext`]'s queries: shapes, element types and attributes of a call, by name.

use super::{Op, ShapeContext};
use crate::dtype::DType;
use crate::kernel::attribute::{Attribute, AttributeValue};
use crate::kernel::error::Failure;
use crate::kernel::operand::Operand;

impl ShapeContext<'_> {
    /// Returns the shape of the input of this name.
    ///
    /// # Panics
    ///
    /// When the op has no such input.
    pub fn shape(&self, name: &str) -> &[usize] {
        self.operand(name).shape()
    }

    /// Returns the dtype of the input of this name.
    ///
    /// # Panics
    ///
    /// When the op has no such input.
    pub fn dtype(&self, name: &str) -> DType {
        self.operand(name).dtype()
    }

    fn operand(&self, name: &str) -> &Operand<'_> {
        let at = self
            .op
            .position(name)
            .filter(|at| *at < self.operands.len());
        let at = at.unwrap_or_else(|| panic!("{} has no input {name:?}", self.op));
        &self.operands[at]
    }

    /// Returns the value of the attribute of this name.
    ///
    /// # Errors
    ///
    /// When the value doesn't fit the type.
    ///
    /// # Panics
    ///
    /// When the op has no such attribute.
    pub fn attribute<T: AttributeValue>(&self, name: &str) -> Result<T, Failure> {
        value_of(self.op, self.attributes, name)
    }
}

/// Returns the value of an attribute, as a Rust type.
pub(in crate::kernel) fn value_of<T: AttributeValue>(
    op: &Op,
    attributes: &[Attribute],
    name: &str,
) -> Result<T, Failure> {
    let at = op.attributes.iter().position(|known| known.name == name);
    let at = at.unwrap_or_else(|| panic!("{op} has no attribute {name:?}"));
    T::from_attribute(&attributes[at])
        .ok_or_else(|| format!("{name} can't be {}", attributes[at]).into())
}
