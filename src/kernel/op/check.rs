//! Validation and comparison of op definitions.

use super::{Kind, Op, Role};
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
        if !self.name.split('.').all(is_name) {
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
        let is_shaped = self.given() > 0 || self.shapes.is_some() || outputs.is_empty();
        if !is_shaped {
            return bad("outputs without inputs need a rule for their shapes".into());
        }
        for input in &self.parameters[..self.given()] {
            if let Kind::Attribute(attribute) = &input.kind {
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
                Kind::Variable(variable) => self.parameters[..self.given()]
                    .iter()
                    .any(|input| input.kind == Kind::Variable(*variable)),
                Kind::Attribute(name) => self.attributes.iter().any(|attribute| {
                    attribute.name == *name && attribute.kind == AttributeKind::DType
                }),
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

    /// Returns whether the name is reserved; an output may be called `out`, its keyword.
    fn is_out(&self, name: &str) -> bool {
        name == "out" && self.position(name).is_some_and(|at| at >= self.given())
    }

    /// Returns whether the other one is the same definition.
    pub(in crate::kernel) fn is_same_as(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
            && self.doc == other.doc
            && self.parameters == other.parameters
            && self.attributes == other.attributes
            && self.broadcasts == other.broadcasts
            && self.in_place == other.in_place
            && self.shapes.is_some() == other.shapes.is_some()
            && self.work.is_some() == other.work.is_some()
    }
}

/// Names that every call understands in Python.
const RESERVED: [&str; 4] = ["out", "like", "label", "memory"];

/// Fewer than there are bits that tell which arguments were given.
pub(in crate::kernel) const MOST_PARAMETERS: usize = 31;

pub(in crate::kernel) const MOST_VARIABLES: usize = 8;
