//! An op's definition in words, as in `add(a: T, b: T) -> out: T`.

use super::{Kind, Op, Parameter, Presence, Role};
use std::fmt;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, parameter: &Parameter| match &parameter.kind {
            Kind::Any => write!(f, "{}", parameter.name),
            Kind::Is(dtype) => write!(f, "{}: {dtype}", parameter.name),
            Kind::Variable(at) => write!(f, "{}: {}", parameter.name, self.variables[*at]),
            Kind::Attribute(name) => write!(f, "{}: {name}", parameter.name),
            Kind::AttributeOr(name, at) => {
                write!(f, "{}: {name} | {}", parameter.name, self.variables[*at])
            }
            Kind::AttributeOrSum(name, at) => {
                write!(
                    f,
                    "{}: {name} | sum of {}",
                    parameter.name, self.variables[*at]
                )
            }
        };
        write!(f, "{}(", self.name)?;
        let (inputs, outputs) = self.parameters.split_at(self.given());
        for (at, parameter) in inputs.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            f.write_str(match parameter.presence {
                Presence::Variadic => "*",
                _ => "",
            })?;
            named(f, parameter)?;
            f.write_str(match (parameter.presence, &parameter.kind) {
                (Presence::Optional, Kind::Any) => " = None",
                (Presence::Optional, _) => " | None = None",
                _ => "",
            })?;
        }
        for (at, attribute) in self.attributes.iter().enumerate() {
            let comma = if inputs.is_empty() && at == 0 {
                ""
            } else {
                ", "
            };
            f.write_str(comma)?;
            let is_first = at == 0 && self.variadic.is_none();
            f.write_str(if is_first { "*, " } else { "" })?;
            write!(f, "{}: {}", attribute.name, attribute.kind)?;
            if let Some(default) = &attribute.default {
                write!(f, " = {default}")?;
            }
        }
        f.write_str(") -> ")?;
        let changed = inputs.iter().filter(|input| input.role == Role::InOut);
        let mut results = 0;
        for parameter in changed {
            f.write_str(if results > 0 { ", " } else { "" })?;
            f.write_str(&parameter.name)?;
            results += 1;
        }
        for parameter in outputs {
            f.write_str(if results > 0 { ", " } else { "" })?;
            named(f, parameter)?;
            results += 1;
        }
        f.write_str(if results == 0 { "nothing" } else { "" })
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Op({self})")
    }
}
