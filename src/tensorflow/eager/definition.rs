//! [`Definition`]: an op's inputs and outputs, read from the `OpDef` that TensorFlow writes.

use super::super::buffer::Buffer;
use super::super::error::TensorFlowError;
use super::super::functions::TF_Graph;
use super::super::library::TensorFlow;
use super::super::status::Status;
use super::super::wire::{Fields, Value};
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, PoisonError, RwLock};

/// The inputs and outputs of an op.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Definition {
    pub(super) inputs: Vec<Argument>,
    pub(super) outputs: Vec<Argument>,
}

/// An input or an output, with the names of the attributes that it determines.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Argument {
    pub(super) name: String,
    /// Its element type, or that of all tensors of a list.
    pub(super) type_attribute: Option<CString>,
    /// The number of tensors of a list.
    pub(super) count_attribute: Option<CString>,
    /// The element types of a list.
    pub(super) types_attribute: Option<CString>,
}

impl Argument {
    pub(super) fn is_list(&self) -> bool {
        self.count_attribute.is_some() || self.types_attribute.is_some()
    }
}

impl Definition {
    /// Returns the definition of an op, which is read once for the process: TensorFlow never
    /// changes it.
    ///
    /// # Errors
    ///
    /// When there is no op of this name, such as for a function.
    pub(super) fn of_op(
        tensorflow: TensorFlow,
        name: &str,
        c_name: &CStr,
    ) -> Result<Arc<Self>, TensorFlowError> {
        static KNOWN: RwLock<Option<HashMap<String, Arc<Definition>>>> = RwLock::new(None);
        let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(definition) = known.as_ref().and_then(|known| known.get(name)) {
            return Ok(Arc::clone(definition));
        }
        drop(known);
        let definition = Arc::new(read_definition(look_up(tensorflow, c_name)?.bytes())?);
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        known.insert(name.to_owned(), Arc::clone(&definition));
        Ok(definition)
    }

    /// Returns the number of outputs, unless some are lists.
    pub(super) fn output_count(&self) -> Option<usize> {
        let lists = self.outputs.iter().any(Argument::is_list);
        (!lists).then_some(self.outputs.len())
    }
}

/// Returns the `OpDef` of an op.
fn look_up(tensorflow: TensorFlow, name: &CStr) -> Result<Buffer, TensorFlowError> {
    let functions = tensorflow.functions();
    let mut definition = Buffer::new(tensorflow);
    let mut status = Status::new(tensorflow);
    // SAFETY: the graph lives until it is deleted here; name, buffer and status live.
    unsafe {
        let graph: *mut TF_Graph = (functions.TF_NewGraph)();
        let (name, to) = (name.as_ptr(), definition.as_ptr());
        (functions.TF_GraphGetOpDef)(graph, name, to, status.as_ptr());
        (functions.TF_DeleteGraph)(graph);
    }
    status.check("TF_GraphGetOpDef")?;
    Ok(definition)
}

/// Reads an `OpDef`: inputs in field 2, outputs in field 3.
fn read_definition(bytes: &[u8]) -> Result<Definition, TensorFlowError> {
    let mut definition = Definition::default();
    let mut fields = Fields::new("OpDef", bytes);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (2, Value::Bytes(argument)) => definition.inputs.push(read_argument(argument)?),
            (3, Value::Bytes(argument)) => definition.outputs.push(read_argument(argument)?),
            _ => {}
        }
    }
    Ok(definition)
}

/// Reads an `ArgDef`: the name in field 1, attributes of type, number and list of types in fields 4
/// to 6.
fn read_argument(bytes: &[u8]) -> Result<Argument, TensorFlowError> {
    let mut argument = Argument::default();
    let mut fields = Fields::new("ArgDef", bytes);
    while let Some((number, value)) = fields.next()? {
        let Value::Bytes(text) = value else { continue };
        // An attribute's name has no NUL byte.
        let attribute = CString::new(text).ok().filter(|_| !text.is_empty());
        match number {
            1 => argument.name = String::from_utf8_lossy(text).into_owned(),
            4 => argument.type_attribute = attribute,
            5 => argument.count_attribute = attribute,
            6 => argument.types_attribute = attribute,
            _ => {}
        }
    }
    Ok(argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_outputs_are_read() {
        // `ConcatV2(values: N * T, axis: Tidx) -> output: T`, without its attributes.
        let message = b"\x0a\x08ConcatV2\x12\x0e\x0a\x06values\x22\x01T\x2a\x01N\
                        \x12\x0c\x0a\x04axis\x22\x04Tidx\x1a\x0b\x0a\x06output\x22\x01T";
        let argument = |name: &str, dtype: &CStr, count: Option<&CStr>| Argument {
            name: name.to_owned(),
            type_attribute: Some(dtype.to_owned()),
            count_attribute: count.map(CStr::to_owned),
            types_attribute: None,
        };
        let expected = Definition {
            inputs: vec![
                argument("values", c"T", Some(c"N")),
                argument("axis", c"Tidx", None),
            ],
            outputs: vec![argument("output", c"T", None)],
        };
        assert!(expected.inputs[0].is_list() && !expected.inputs[1].is_list());
        assert_eq!(expected.output_count(), Some(1));
        assert_eq!(read_definition(message), Ok(expected));
    }
}
