//! The places of a call's operands, and what the op says of each.
//!
//! There is one for each parameter: inputs, then outputs. The tensors of a variadic input are at
//! that parameter's place and behind all others.

#[cfg(feature = "python")]
use super::Kind;
use super::{Op, Parameter, Presence, Role};
#[cfg(feature = "python")]
use crate::dtype::DType;
use crate::kernel::operand::Operand;
use std::borrow::Cow;

impl Op {
    /// Returns how many parameters are inputs, or read and written.
    pub(crate) fn given(&self) -> usize {
        let is_given = |parameter: &&Parameter| parameter.role != Role::Output;
        self.parameters.iter().take_while(is_given).count()
    }

    /// Returns the place of the variadic input.
    #[inline]
    pub(crate) fn variadic(&self) -> Option<usize> {
        self.variadic
    }

    /// Returns whether calls may leave a parameter out.
    pub(crate) fn is_optional(&self, parameter: usize) -> bool {
        self.parameters[parameter].presence == Presence::Optional
    }

    /// Returns the parameter of an operand.
    #[inline]
    pub(crate) fn parameter_of(&self, at: usize) -> usize {
        match self.variadic {
            Some(variadic) if at >= self.parameters.len() => variadic,
            _ => at,
        }
    }

    /// Returns the name of an operand's argument, as in `x` and `xs[2]`.
    #[cold]
    pub(crate) fn argument_name(&self, at: usize) -> Cow<'_, str> {
        let name = &self.parameters[self.parameter_of(at)].name;
        match at.checked_sub(self.parameters.len()) {
            Some(more) => format!("{name}[{}]", more + 1).into(),
            None if self.variadic == Some(at) => format!("{name}[0]").into(),
            None => name.into(),
        }
    }

    /// Returns whether an operand is written.
    #[inline]
    pub(crate) fn writes(&self, at: usize) -> bool {
        self.parameters[self.parameter_of(at)].role != Role::Input
    }

    /// Returns the dtype of an operand, if it is fixed.
    #[cfg(feature = "python")]
    pub(crate) fn fixed_type(&self, at: usize) -> Option<DType> {
        match self.parameters[self.parameter_of(at)].kind {
            Kind::Is(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// Returns whether two operands have the same type variable.
    #[cfg(feature = "python")]
    pub(crate) fn has_type_of(&self, at: usize, other: usize) -> bool {
        let [one, other] = [at, other].map(|at| &self.parameters[self.parameter_of(at)].kind);
        matches!(one, Kind::Variable(_)) && one == other
    }

    pub(in crate::kernel) fn position(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|known| known.name == name)
    }

    /// Returns whether an output may be in exactly the memory of an operand.
    pub(crate) fn may_be_in_place(&self, output: usize, input: usize) -> bool {
        let name = |at: usize| &self.parameters[self.parameter_of(at)].name;
        self.in_place
            .iter()
            .any(|(o, i)| o == name(output) && i == name(input))
    }

    /// Returns the inputs that a call gave, each with its place: `own` are those of the parameters,
    /// `more` the other tensors of a variadic one.
    pub(in crate::kernel) fn inputs_given<'o, 'a>(
        &self,
        own: &'o [Operand<'a>],
        more: &'o [Operand<'a>],
    ) -> impl Iterator<Item = (usize, &'o Operand<'a>)> + use<'o, 'a> {
        let more = (self.parameters.len()..).zip(more);
        let all = own.iter().enumerate().chain(more);
        all.filter(|(_, operand)| !operand.is_absent())
    }

    /// Returns a call's operands in the order of its arguments, without those that were left out;
    /// `None` if that is how they are.
    #[cold]
    pub(in crate::kernel) fn in_order<'a>(
        &self,
        operands: &[Operand<'a>],
    ) -> Option<Vec<Operand<'a>>> {
        let (count, given) = (self.parameters.len(), self.given());
        if operands.len() == count && !operands.iter().any(Operand::is_absent) {
            return None;
        }
        let parts = [
            &operands[..given],
            &operands[count..],
            &operands[given..count],
        ];
        let given = parts.into_iter().flatten();
        let given = given.filter(|operand| !operand.is_absent());
        Some(given.map(Operand::duplicate).collect())
    }
}
