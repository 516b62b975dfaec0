//! Schemas of PyTorch's dispatcher, of ops' definitions.

use crate::dtype::DType;
use crate::hosts::{Host, HostError};
use crate::kernel::{Attribute, AttributeKind, Op};

/// Returns the name of an op, or of its functional form.
pub(super) fn name(op: &Op, functional: bool) -> String {
    let ending = if functional { "_functional" } else { "" };
    format!("{}{ending}", op.name().replace('.', "_"))
}

/// Returns whether the schema has lists or texts.
pub(super) fn needs_lists(op: &Op) -> bool {
    let is_list = |kind| {
        matches!(
            kind,
            AttributeKind::Text | AttributeKind::Ints | AttributeKind::OptionalInts
        )
    };
    op.variadic().is_some() || op.attributes().any(|(_, kind, _)| is_list(kind))
}

/// Returns the schema of an op, or of its functional form. `number` has PyTorch's numbers of
/// dtypes.
pub(super) fn schema(
    op: &Op,
    functional: bool,
    number: &dyn Fn(DType) -> Option<i32>,
) -> Result<String, HostError> {
    let missing = |problem: String| Host::Torch.no_equivalent(op.name(), problem);
    let (mut arguments, mut results) = (Vec::new(), Vec::new());
    let mut written = b'a'..=b'z';
    for (at, (name, reads, writes)) in op.parameters().enumerate() {
        if !reads {
            results.push("Tensor".to_owned());
            continue;
        }
        arguments.push(match (writes, op.variadic() == Some(at)) {
            (true, _) if !functional => {
                let alias = written.next();
                let alias =
                    alias.ok_or_else(|| missing("more than 26 written tensors".to_owned()))?;
                format!("Tensor({}!) {name}", char::from(alias))
            }
            (_, true) => format!("Tensor[] {name}"),
            _ if op.is_optional(at) => format!("Tensor? {name}=None"),
            _ => format!("Tensor {name}"),
        });
        if writes && functional {
            results.push("Tensor".to_owned());
        }
    }
    for (at, (name, kind, default)) in op.attributes().enumerate() {
        if at == 0 {
            arguments.push("*".to_owned());
        }
        let default = match default {
            Some(default) => format!("={}", literal(default, number).map_err(missing)?),
            None => String::new(),
        };
        let kind = type_name(kind).map_err(missing)?;
        arguments.push(format!("{kind} {name}{default}"));
    }
    let results = match &results[..] {
        [one] => one.clone(),
        all => format!("({})", all.join(", ")),
    };
    let name = self::name(op, functional);
    Ok(format!("{name}({}) -> {results}", arguments.join(", ")))
}

fn type_name(kind: AttributeKind) -> Result<&'static str, String> {
    Ok(match kind {
        AttributeKind::Bool => "bool",
        AttributeKind::Int => "int",
        AttributeKind::Float => "float",
        AttributeKind::Text => "str",
        AttributeKind::DType => "ScalarType",
        AttributeKind::Ints => "int[]",
        AttributeKind::OptionalInt => "int?",
        AttributeKind::OptionalInts => "int[]?",
        AttributeKind::OptionalDType => "ScalarType?",
        #[allow(unreachable_patterns, reason = "kinds that are added later")]
        _ => return Err(format!("no attributes of kind {kind}")),
    })
}

fn literal(value: &Attribute, number: &dyn Fn(DType) -> Option<i32>) -> Result<String, String> {
    let list = |values: &[i64]| {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        format!("[{}]", values.join(", "))
    };
    Ok(match value {
        Attribute::Text(text) if text.contains(['"', '\\', '\n']) => {
            return Err(format!("no default {text:?}"));
        }
        Attribute::Float(value) if !value.is_finite() => {
            return Err(format!("no default {value}"));
        }
        Attribute::Text(text) => format!("\"{text}\""),
        Attribute::DType(dtype) | Attribute::OptionalDType(Some(dtype)) => match number(*dtype) {
            Some(number) => number.to_string(),
            None => return Err(format!("no dtype {dtype}")),
        },
        Attribute::Ints(values) | Attribute::OptionalInts(Some(values)) => list(values),
        value => value.to_string(),
    })
}
