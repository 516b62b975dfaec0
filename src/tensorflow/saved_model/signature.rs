//! [`Signature`]: the named inputs and outputs of a function in a SavedModel, read from its
//! `MetaGraphDef`.

use super::super::dtype::DataType;
use super::super::error::TensorFlowError;
use super::super::wire::{Fields, Value};
use std::collections::BTreeMap;

/// The inputs and outputs of a function, by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Signature {
    /// What is fed.
    pub inputs: BTreeMap<String, SignatureTensor>,
    /// What is fetched.
    pub outputs: BTreeMap<String, SignatureTensor>,
}

/// An input or output of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureTensor {
    /// Its name in the graph, such as `serving_default_x:0`.
    pub name: String,
    /// Its element type.
    pub data_type: DataType,
    /// Its shape, in which unknown sizes are -1; `None` if the rank isn't known.
    pub shape: Option<Vec<i64>>,
}

/// Reads the signatures of a `MetaGraphDef`: its field 5, a map.
pub(super) fn read_signatures(
    bytes: &[u8],
) -> Result<BTreeMap<String, Signature>, TensorFlowError> {
    let mut signatures = BTreeMap::new();
    let mut fields = Fields::new("MetaGraphDef", bytes);
    while let Some((number, value)) = fields.next()? {
        if let (5, Value::Bytes(entry)) = (number, value) {
            let (name, signature) = read_entry(entry)?;
            signatures.insert(name, read_signature(signature)?);
        }
    }
    // TensorFlow's own, which initialises the variables when the model is loaded.
    signatures.remove("__saved_model_init_op");
    Ok(signatures)
}

/// Reads an entry of a map: the key in field 1, the value in field 2.
fn read_entry(bytes: &[u8]) -> Result<(String, &[u8]), TensorFlowError> {
    let mut entry = (String::new(), &[][..]);
    let mut fields = Fields::new("entry of a SignatureDef", bytes);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Bytes(key)) => entry.0 = String::from_utf8_lossy(key).into_owned(),
            (2, Value::Bytes(value)) => entry.1 = value,
            _ => {}
        }
    }
    Ok(entry)
}

fn read_signature(bytes: &[u8]) -> Result<Signature, TensorFlowError> {
    let mut signature = Signature::default();
    let mut fields = Fields::new("SignatureDef", bytes);
    while let Some((number, value)) = fields.next()? {
        let tensors = match number {
            1 => &mut signature.inputs,
            2 => &mut signature.outputs,
            _ => continue,
        };
        if let Value::Bytes(entry) = value {
            let (name, tensor) = read_entry(entry)?;
            tensors.insert(name, read_tensor(tensor)?);
        }
    }
    Ok(signature)
}

/// Reads a `TensorInfo`: name in field 1, type in 2, shape in 3.
fn read_tensor(bytes: &[u8]) -> Result<SignatureTensor, TensorFlowError> {
    let mut tensor = SignatureTensor {
        name: String::new(),
        data_type: DataType::from_code(0),
        shape: None,
    };
    let mut fields = Fields::new("TensorInfo", bytes);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Bytes(name)) => tensor.name = String::from_utf8_lossy(name).into_owned(),
            (2, Value::Number(code)) => tensor.data_type = DataType::from_code(code as i32),
            (3, Value::Bytes(shape)) => tensor.shape = read_shape(shape)?,
            _ => {}
        }
    }
    Ok(tensor)
}

/// Reads a `TensorShapeProto`: sizes in field 2, each a message with its number in field 1; field 3
/// is whether the rank is unknown.
fn read_shape(bytes: &[u8]) -> Result<Option<Vec<i64>>, TensorFlowError> {
    let mut shape = Vec::new();
    let mut fields = Fields::new("TensorShapeProto", bytes);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (2, Value::Bytes(dim)) => {
                let mut size = 0;
                let mut fields = Fields::new("dimension of a TensorShapeProto", dim);
                while let Some((number, value)) = fields.next()? {
                    if let (1, Value::Number(found)) = (number, value) {
                        size = found as i64;
                    }
                }
                shape.push(size);
            }
            (3, Value::Number(1)) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(shape))
}
