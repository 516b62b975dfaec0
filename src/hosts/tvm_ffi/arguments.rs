//! Arguments of a packed function: inputs, attributes, outputs.

use super::library::{Object, TvmFfi};
use super::value::Value;
use crate::hosts::operands::{Described, Inputs};
use crate::hosts::problem::{Class, Problem};
use crate::kernel::{Attribute, AttributeKind, OpHandle};
use smallvec::SmallVec;

/// The arguments of a call.
#[derive(Default)]
pub(super) struct Arguments<'t> {
    pub(super) inputs: Inputs,
    pub(super) attributes: SmallVec<[Attribute; 4]>,
    /// All outputs, or none if they are to be made.
    pub(super) outputs: SmallVec<[Described; 1]>,
    /// References to the items of an array.
    _items: Vec<Object<'t>>,
}

impl<'t> Arguments<'t> {
    /// Sorts and appends the arguments of a call.
    ///
    /// # Safety
    ///
    /// They are valid.
    pub(super) unsafe fn read(
        &mut self,
        tvm: &'t TvmFfi,
        handle: &OpHandle,
        values: &[Value],
    ) -> Result<(), Problem> {
        let op = handle.definition();
        let wrong = |class, problem: &str| Problem::new(class, format!("{}: {problem}", op.name()));
        let of_argument = |name: &str| {
            let name = name.to_owned();
            move |problem: String| wrong(Class::Type, &format!("argument {name:?}: {problem}"))
        };
        let mut rest = values;
        let mut given = 0;
        for (at, (name, reads, _)) in op.parameters().enumerate() {
            if !reads {
                break;
            }
            given += 1;
            let Some((value, after)) = rest.split_first() else {
                continue;
            };
            let values: SmallVec<[Value; 4]> = if op.variadic() == Some(at) && value.is_list() {
                rest = after;
                // SAFETY: the value is valid, and an array or a list.
                let (items, objects) = unsafe { value.items(tvm) }.map_err(of_argument(name))?;
                self._items.extend(objects);
                items.into()
            } else if op.variadic() == Some(at) {
                let count = rest.iter().take_while(|value| value.is_tensor()).count();
                // The value that stands where the first tensor is expected is refused as one.
                let (own, after) = rest.split_at(count.max(1));
                rest = after;
                own.into()
            } else {
                rest = after;
                match value.is_none() && op.is_optional(at) {
                    true => SmallVec::new(),
                    false => SmallVec::from_elem(*value, 1),
                }
            };
            for value in values {
                self.inputs.places.push(at);
                // SAFETY: the value is valid.
                let described = unsafe { value.describe(&mut self.inputs.tensors) };
                described.map_err(of_argument(name))?;
            }
        }
        for (name, kind, default) in op.attributes() {
            let value = rest.split_first().filter(|(value, _)| !value.is_tensor());
            let is_default = |value: &Value| value.is_none() && !is_optional(kind);
            let value = match value {
                Some((value, after)) => {
                    rest = after;
                    Some(value).filter(|value| !is_default(value))
                }
                None => None,
            };
            self.attributes.push(match (value, default) {
                (Some(value), _) => {
                    // SAFETY: the value is valid.
                    unsafe { value.attribute(tvm, kind) }.map_err(of_argument(name))?
                }
                (None, Some(default)) => default.clone(),
                (None, None) => {
                    let problem = format!("argument {name:?} is missing");
                    return Err(wrong(Class::Type, &problem));
                }
            });
        }
        for value in rest {
            // SAFETY: the value is valid.
            let described = unsafe { value.describe(&mut self.outputs) };
            described.map_err(of_argument("out"))?;
        }
        let outputs = op.parameters().count() - given;
        if !self.outputs.is_empty() && self.outputs.len() != outputs {
            let problem = format!("expected {outputs} outputs, got {}", self.outputs.len());
            return Err(wrong(Class::Type, &problem));
        }
        Ok(())
    }
}

/// Returns whether `None` is a value of this kind.
fn is_optional(kind: AttributeKind) -> bool {
    matches!(
        kind,
        AttributeKind::OptionalInt | AttributeKind::OptionalInts | AttributeKind::OptionalDType
    )
}
