//! [`Definition`]: an op's definition as TensorFlow has it, checked before TensorFlow sees it.

use crate::dtype::DType;
use crate::hosts::{Host, HostError};
use crate::kernel::{Attribute, AttributeKind, ElementType, Op, OpHandle};
use crate::tensorflow_types::{TABLE, code_of, name_of};
use std::collections::BTreeSet;

/// What stands for `None` among integers.
pub(super) const NO_INT: i64 = i64::MIN;

/// The last code of the dtypes that TensorFlow has from 2.15 on, with elements as they are here.
const LAST_CODE: i32 = 25;

/// The parts of a definition, in TensorFlow's language.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) attributes: Vec<String>,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
}

/// Returns the name of an op.
pub(super) fn name(op: &str) -> Result<String, HostError> {
    let mut name = "Dlbridge>".to_owned();
    for part in op.split(['.', '_']).filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_at_checked(1).unwrap_or((part, ""));
        name += &first.to_ascii_uppercase();
        name += rest;
    }
    let own = &name["Dlbridge>".len()..];
    let is_letter = own.starts_with(|first: char| first.is_ascii_uppercase());
    match is_letter && own.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        true => Ok(name),
        false => Err(Host::TensorFlow.no_equivalent(op, "not a name of its ops")),
    }
}

/// Returns the name of the attribute with an input's number of tensors.
pub(super) fn count_name(input: &str) -> String {
    format!("N_{input}")
}

/// Returns the name of the attribute with the dtypes of an input of any dtype.
fn any_name(input: &str) -> String {
    format!("T_{input}")
}

/// Returns the name of the output with the new value of an input.
fn new_name(input: &str) -> String {
    format!("new_{input}")
}

/// Returns whether an output has the dtype that this attribute names.
pub(super) fn is_of_output(op: &Op, attribute: &str) -> bool {
    let places = 0..op.parameters().count();
    places.map(|at| op.element_type(at)).any(|kind| match kind {
        ElementType::AttributeOr { attribute: of, .. }
        | ElementType::AttributeOrSum { attribute: of, .. }
        | ElementType::Attribute(of) => of == attribute,
        _ => false,
    })
}

/// Returns the name of a dtype in definitions, whose language has no names with an underscore.
fn type_name(dtype: DType) -> Option<String> {
    let name = name_of(code_of(dtype).filter(|code| *code <= LAST_CODE)?)?;
    let name = name.strip_prefix("DT_")?.to_ascii_lowercase();
    (!name.contains('_')).then_some(name)
}

impl Definition {
    pub(super) fn of(handle: &OpHandle) -> Result<Self, HostError> {
        let op = handle.definition();
        let refused = |problem: String| Host::TensorFlow.no_equivalent(op.name(), problem);
        let mut all = Self {
            name: name(op.name())?,
            attributes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        let mut variables = BTreeSet::new();
        let mut names = BTreeSet::new();
        let mut outputs = Vec::new();
        for (at, (name, reads, writes)) in op.parameters().enumerate() {
            if !is_argument_name(name) {
                return Err(refused(format!("no tensor is called {name:?}")));
            }
            add(&mut names, name.to_owned()).map_err(refused)?;
            let kind = match op.element_type(at) {
                ElementType::Is(dtype) => {
                    type_name(dtype).ok_or_else(|| refused(format!("no dtype {dtype}")))?
                }
                ElementType::Variable(variable) => {
                    variables.insert(variable.clone());
                    variable
                }
                ElementType::Any if reads => any_name(name),
                ElementType::Attribute(attribute)
                | ElementType::AttributeOr { attribute, .. }
                | ElementType::AttributeOrSum { attribute, .. }
                    if !reads =>
                {
                    attribute
                }
                _ => {
                    return Err(refused(format!("the dtype of {name:?} isn't known")));
                }
            };
            if !reads {
                outputs.push(format!("{name}: {kind}"));
                continue;
            }
            if writes {
                add(&mut names, new_name(name)).map_err(refused)?;
                all.outputs.push(format!("{}: {kind}", new_name(name)));
            }
            let least = match (op.variadic() == Some(at), op.is_optional(at)) {
                (true, _) => Some(1),
                (_, true) => Some(0),
                _ => None,
            };
            let is_any = op.element_type(at) == ElementType::Any;
            if is_any {
                let list =
                    least.map_or("type".to_owned(), |least| format!("list(type) >= {least}"));
                add(&mut names, any_name(name)).map_err(refused)?;
                all.attributes.push(format!("{}: {list}", any_name(name)));
            }
            all.inputs.push(match least {
                Some(least) if !is_any => {
                    let count = count_name(name);
                    add(&mut names, count.clone()).map_err(refused)?;
                    all.attributes.push(format!("{count}: int >= {least}"));
                    format!("{name}: {count} * {kind}")
                }
                _ => format!("{name}: {kind}"),
            });
        }
        all.outputs.append(&mut outputs);
        for (name, kind, default) in op.attributes() {
            if !is_attribute_name(name) {
                return Err(refused(format!("no attribute is called {name:?}")));
            }
            add(&mut names, name.to_owned()).map_err(refused)?;
            let text = attribute(op, name, kind, default).map_err(refused)?;
            all.attributes.push(text);
        }
        for variable in variables {
            if !is_attribute_name(&variable) {
                return Err(refused(format!("no type is called {variable:?}")));
            }
            add(&mut names, variable.clone()).map_err(refused)?;
            let types = types_of(handle, &variable).map_err(refused)?;
            all.attributes.push(format!("{variable}: {types}"));
        }
        Ok(all)
    }
}

/// Adds a name of an argument, an attribute or a type, which TensorFlow has together.
fn add(names: &mut BTreeSet<String>, name: String) -> Result<(), String> {
    match names.replace(name) {
        Some(name) => Err(format!("two things are called {name:?}")),
        None => Ok(()),
    }
}

/// Returns the dtypes of a type variable that the CPU has kernels for.
fn types_of(handle: &OpHandle, variable: &str) -> Result<String, String> {
    let mut names = Vec::new();
    for kernel in handle.kernels() {
        if kernel.device != crate::device::DeviceKind::Cpu || !kernel.label.is_empty() {
            continue;
        }
        for (_, types) in kernel.types.iter().filter(|(name, _)| name == variable) {
            // Of dtypes without a name, calls find out whether there is a kernel.
            let is_unnamed =
                |dtype: &DType| type_name(*dtype).is_none() && code_of(*dtype).is_some();
            if types.is_empty() || types.iter().any(is_unnamed) {
                return Ok("type".to_owned());
            }
            for name in types.iter().filter_map(|dtype| type_name(*dtype)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    match names.is_empty() {
        true => Err("the CPU has no kernel for its dtypes".to_owned()),
        false => Ok(format!("{{{}}}", names.join(", "))),
    }
}

/// Returns an attribute's definition.
fn attribute(
    op: &Op,
    name: &str,
    kind: AttributeKind,
    default: Option<&Attribute>,
) -> Result<String, String> {
    let kind = match kind {
        AttributeKind::Bool => "bool",
        AttributeKind::Int | AttributeKind::OptionalInt => "int",
        AttributeKind::Float | AttributeKind::Text => "string",
        AttributeKind::DType => "type",
        AttributeKind::OptionalDType if is_of_output(op, name) => {
            return Ok(format!("{name}: type"));
        }
        AttributeKind::OptionalDType => "list(type)",
        AttributeKind::Ints | AttributeKind::OptionalInts => "list(int)",
        #[allow(unreachable_patterns, reason = "kinds that are added later")]
        _ => return Err(format!("no attributes of kind {kind}")),
    };
    let default = default.and_then(literal);
    let default = default.map_or(String::new(), |default| format!(" = {default}"));
    Ok(format!("{name}: {kind}{default}"))
}

/// Returns a value as a default; `None` where it can't be written: then each call gives it.
fn literal(value: &Attribute) -> Option<String> {
    let list = |values: &[i64]| {
        let values: Vec<_> = values.iter().map(ToString::to_string).collect();
        format!("[{}]", values.join(", "))
    };
    let type_name = |dtype: &DType| {
        let code = code_of(*dtype).filter(|code| *code <= LAST_CODE)?;
        name_of(code).map(str::to_owned)
    };
    match value {
        Attribute::Bool(value) => Some(value.to_string()),
        Attribute::Int(value) | Attribute::OptionalInt(Some(value)) => Some(value.to_string()),
        Attribute::OptionalInt(None) => Some(NO_INT.to_string()),
        Attribute::Float(value) => Some(format!("'{value:?}'")),
        Attribute::Text(text) => {
            let is_plain = |letter: char| letter == ' ' || letter.is_ascii_graphic();
            let is_plain = |letter: char| is_plain(letter) && !"'\"\\".contains(letter);
            text.chars().all(is_plain).then(|| format!("'{text}'"))
        }
        Attribute::DType(dtype) => type_name(dtype),
        Attribute::OptionalDType(None) => Some("[]".to_owned()),
        Attribute::OptionalDType(Some(dtype)) => Some(format!("[{}]", type_name(dtype)?)),
        Attribute::Ints(values) | Attribute::OptionalInts(Some(values)) => Some(list(values)),
        Attribute::OptionalInts(None) => Some(list(&[NO_INT])),
        #[allow(unreachable_patterns, reason = "kinds that are added later")]
        _ => None,
    }
}

fn is_argument_name(name: &str) -> bool {
    let is_usual = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| is_usual(letter) || letter == '_')
        // These are arguments of TensorFlow's own functions.
        && !["name", "op_type_name"].contains(&name)
}

fn is_attribute_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && (name.chars()).all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && !["name", "op_type_name"].contains(&name)
        && !is_dtype_name(name)
}

/// Returns whether TensorFlow reads a name as a dtype.
fn is_dtype_name(name: &str) -> bool {
    let mut name = name;
    while let Some(of) = name.strip_suffix("_ref") {
        name = of;
    }
    ["float16", "float32", "float64"].contains(&name)
        || TABLE.iter().any(|(_, known, _)| {
            let known = known.strip_prefix("DT_");
            known.is_some_and(|known| known.to_ascii_lowercase() == name)
        })
}

#[cfg(test)]
mod tests;
