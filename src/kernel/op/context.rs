//! [`ShapeContext`]'s queries: shapes, element types and attributes of a call, by name.

use super::{Op, ShapeContext};
use crate::dtype::DType;
use crate::kernel::argument_error::ArgumentError;
use crate::kernel::attribute::{Attribute, AttributeValue};
use crate::kernel::error::Failure;
use crate::kernel::operand::Operand;

impl ShapeContext<'_> {
    /// Returns the shape of the input of this name; of a variadic one the first tensor's.
    ///
    /// # Panics
    ///
    /// When the op has no such input, or the call left it out.
    pub fn shape(&self, name: &str) -> &[usize] {
        self.operand(name).shape()
    }

    /// Returns the shapes of the tensors of the input of this name: several of a variadic one, none
    /// of an optional one that the call left out.
    ///
    /// # Panics
    ///
    /// When the op has no such input.
    pub fn shapes(&self, name: &str) -> impl ExactSizeIterator<Item = &[usize]> {
        let at = self.place(name);
        let more = if self.op.variadic() == Some(at) {
            self.more
        } else {
            &[]
        };
        let own = &self.operands[at..=at];
        let own = if own[0].is_absent() { &[] } else { own };
        let tensor = move |at: usize| own.get(at).unwrap_or_else(|| &more[at - own.len()]);
        (0..own.len() + more.len()).map(move |at| tensor(at).shape())
    }

    /// Returns whether the call gave the input of this name.
    ///
    /// # Panics
    ///
    /// When the op has no such input.
    pub fn is_given(&self, name: &str) -> bool {
        !self.operands[self.place(name)].is_absent()
    }

    /// Returns the dtype of the input of this name.
    ///
    /// # Panics
    ///
    /// When the op has no such input, or the call left it out.
    pub fn dtype(&self, name: &str) -> DType {
        self.operand(name).dtype()
    }

    fn operand(&self, name: &str) -> &Operand<'_> {
        let operand = &self.operands[self.place(name)];
        assert!(!operand.is_absent(), "the call has no input {name:?}");
        operand
    }

    fn place(&self, name: &str) -> usize {
        let at = self
            .op
            .position(name)
            .filter(|at| *at < self.operands.len());
        at.unwrap_or_else(|| panic!("{} has no input {name:?}", self.op))
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

    /// Returns the numbers of the attribute of this name, of kind `OptionalInts`, without a copy.
    ///
    /// # Panics
    ///
    /// When the op has no such attribute, or one of another kind.
    #[cfg(feature = "ops")]
    pub(crate) fn optional_ints(&self, name: &str) -> Option<&[i64]> {
        match value_at(self.op, self.attributes, name) {
            Attribute::OptionalInts(ints) => ints.as_deref(),
            other => panic!("{name} of {} is {other}", self.op),
        }
    }
}

/// Returns the value of an attribute, as a Rust type.
pub(in crate::kernel) fn value_of<T: AttributeValue>(
    op: &Op,
    attributes: &[Attribute],
    name: &str,
) -> Result<T, Failure> {
    let attribute = value_at(op, attributes, name);
    T::from_attribute(attribute).ok_or_else(|| {
        let (found, wanted) = (attribute.to_string(), std::any::type_name::<T>());
        let reason = format!("{name} can't be {found}");
        ArgumentError::value(name, found, wanted)
            .with_reason(reason)
            .into()
    })
}

fn value_at<'a>(op: &Op, attributes: &'a [Attribute], name: &str) -> &'a Attribute {
    let at = op.attributes.iter().position(|known| known.name == name);
    &attributes[at.unwrap_or_else(|| panic!("{op} has no attribute {name:?}"))]
}
