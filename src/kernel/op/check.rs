//! Validation and comparison of op definitions.

use super::{Kind, Op, Presence, Role, Shapes};
use crate::kernel::attribute::AttributeKind;
use crate::kernel::error::RegistrationError;

impl Op {
    /// Validates the definition.
    pub(in crate::kernel) fn check(&self) -> Result<(), RegistrationError> {
        let bad = |problem: String| {
            Err(RegistrationError::BadOp {
                op: self.name.clone(),
                problem,
            })
        };
        let is_name = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|c| c.is_ascii_alphabetic())
                && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let mut names = std::iter::once(&self.name).chain(&self.aliases);
        if !names.all(|name| name.split('.').all(is_name)) {
            return bad("names are letters, digits and _, in parts between dots".into());
        }
        let tensors = self.parameters.iter().map(|parameter| &parameter.name);
        let all: Vec<_> = tensors
            .chain(self.attributes.iter().map(|attribute| &attribute.name))
            .collect();
        for (at, name) in all.iter().enumerate() {
            if !is_name(name) {
                return bad(format!("{name:?} can't be an argument's name"));
            }
            if all[..at].contains(name) || RESERVED.contains(&name.as_str()) && !self.is_out(name) {
                return bad(format!("the name {name:?} is taken"));
            }
        }
        if self.parameters.len() > MOST_PARAMETERS {
            return bad(format!("there can be {MOST_PARAMETERS} tensors at most"));
        }
        if self.variables.len() > MOST_VARIABLES {
            return bad(format!(
                "there can be {MOST_VARIABLES} type variables at most"
            ));
        }
        let outputs = &self.parameters[self.given()..];
        if outputs
            .iter()
            .any(|parameter| parameter.role != Role::Output)
        {
            return bad("outputs come after all inputs".into());
        }
        let has_rule = matches!(self.shapes, Some(Shapes::Ruled(_))) || self.sizes.is_some();
        let is_shaped = self.given() > 0 || has_rule || outputs.is_empty();
        if !is_shaped {
            return bad("outputs without inputs need a rule for their shapes".into());
        }
        self.check_presence().or_else(bad)?;
        for input in &self.parameters[..self.given()] {
            if let Kind::Attribute(attribute)
            | Kind::AttributeOr(attribute, _)
            | Kind::AttributeOrSum(attribute, _) = &input.kind
            {
                let name = &input.name;
                return bad(format!(
                    "{attribute:?} can't say which elements {name:?} has"
                ));
            }
        }
        for output in outputs {
            let is_known = match &output.kind {
                Kind::Any => false,
                Kind::Is(_) => true,
                Kind::Variable(variable) => self.has_input_of(*variable),
                Kind::Attribute(name) => self.attributes.iter().any(|attribute| {
                    attribute.name == *name && attribute.kind == AttributeKind::DType
                }),
                Kind::AttributeOr(name, variable) | Kind::AttributeOrSum(name, variable) => {
                    self.has_input_of(*variable)
                        && self.attributes.iter().any(|attribute| {
                            attribute.name == *name
                                && attribute.kind == AttributeKind::OptionalDType
                        })
                }
            };
            if !is_known {
                let name = &output.name;
                return bad(format!("nothing says which elements {name:?} has"));
            }
        }
        for attribute in &self.attributes {
            let default = attribute.default.as_ref();
            if default.is_some_and(|default| default.kind() != attribute.kind) {
                let (name, kind) = (&attribute.name, attribute.kind);
                return bad(format!("the default of {name:?} is not of kind {kind}"));
            }
        }
        for (output, input) in &self.in_place {
            let role = |name: &str| Some(self.parameters[self.position(name)?].role);
            if role(output) != Some(Role::Output) || role(input) != Some(Role::Input) {
                return bad(format!("{output:?} can't be where {input:?} is"));
            }
        }
        Ok(())
    }

    /// Checks optional and variadic inputs.
    fn check_presence(&self) -> Result<(), String> {
        let (inputs, outputs) = self.parameters.split_at(self.given());
        let mut optional = None;
        for (at, input) in inputs.iter().enumerate() {
            let name = &input.name;
            match (input.presence, optional) {
                (Presence::Required, Some(optional)) => {
                    return Err(format!(
                        "{name:?} is required, and comes after {optional:?}, which isn't"
                    ));
                }
                (Presence::Variadic, _) if at + 1 < inputs.len() => {
                    return Err(format!(
                        "{name:?} is variadic, and not the last of the inputs"
                    ));
                }
                (Presence::Optional, _) => optional = Some(name),
                _ => {}
            }
            if let (Presence::Optional, Kind::Variable(variable)) = (input.presence, &input.kind)
                && !self.has_input_of(*variable)
            {
                let variable = &self.variables[*variable];
                return Err(format!(
                    "nothing says what {variable} is in a call without {name:?}"
                ));
            }
        }
        let first_is_optional =
            (inputs.first()).is_some_and(|input| input.presence == Presence::Optional);
        let has_rule = match self.shapes {
            Some(Shapes::Ruled(_)) => true,
            Some(Shapes::Kept(_)) => false,
            None => self.sizes.is_some(),
        };
        if first_is_optional && !outputs.is_empty() && !has_rule {
            return Err("outputs need a rule for their shapes, as all inputs are optional".into());
        }
        Ok(())
    }

    /// Returns whether an input that every call gives is of a type variable.
    fn has_input_of(&self, variable: usize) -> bool {
        let inputs = &self.parameters[..self.given()];
        let mut inputs = inputs.iter();
        inputs.any(|input| {
            input.presence != Presence::Optional && input.kind == Kind::Variable(variable)
        })
    }

    /// Returns whether the name is reserved; an output may be called `out`, its keyword.
    fn is_out(&self, name: &str) -> bool {
        name == "out" && self.position(name).is_some_and(|at| at >= self.given())
    }

    /// Returns whether the other one is the same definition.
    pub(in crate::kernel) fn is_same_as(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
            && self.aliases == other.aliases
            && self.doc == other.doc
            && self.parameters == other.parameters
            && self.attributes == other.attributes
            && self.broadcasts == other.broadcasts
            && self.in_place == other.in_place
            && self.shapes.is_some() == other.shapes.is_some()
            && self.work.is_some() == other.work.is_some()
            && self.sizes == other.sizes
            && self.is_elementwise == other.is_elementwise
            && self.takes_batches == other.takes_batches
            && self.gradient_texts == other.gradient_texts
    }
}

/// Names that every call understands in Python.
const RESERVED: [&str; 5] = ["out", "like", "label", "memory", "threads"];

/// Fewer than there are bits that tell which arguments were given.
pub(in crate::kernel) const MOST_PARAMETERS: usize = 31;

pub(in crate::kernel) const MOST_VARIABLES: usize = 8;
