//! The functions of a graph, read from the `FunctionDef`s that TensorFlow writes.

use super::super::buffer::Buffer;
use super::super::error::TensorFlowError;
use super::super::functions::{TF_Function, TF_Graph};
use super::super::library::TensorFlow;
use super::super::status::Status;
use super::super::wire::{Fields, Value};
use std::ptr;

/// A function: its name, and the ops of its nodes.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) ops: Vec<String>,
}

/// Returns the functions of a graph.
///
/// # Safety
///
/// The graph is one of this TensorFlow, and lives.
pub(super) unsafe fn read(
    tensorflow: TensorFlow,
    graph: *mut TF_Graph,
) -> Result<Vec<Function>, TensorFlowError> {
    let functions = tensorflow.functions();
    // SAFETY: the graph lives, a precondition of this function.
    let count = unsafe { (functions.TF_GraphNumFunctions)(graph) };
    let mut list = List {
        tensorflow,
        functions: vec![ptr::null_mut(); count.max(0) as usize],
    };
    let mut status = Status::new(tensorflow);
    // SAFETY: graph and status live; there is room for as many functions as the count says.
    let found = unsafe {
        let first = list.functions.as_mut_ptr();
        (functions.TF_GraphGetFunctions)(graph, first, count, status.as_ptr())
    };
    status.check("TF_GraphGetFunctions")?;
    let found = &list.functions[..found.max(0) as usize];
    found
        .iter()
        .map(|function| {
            let mut message = Buffer::new(tensorflow);
            let to = message.as_ptr();
            // SAFETY: function, buffer and status live.
            unsafe { (functions.TF_FunctionToFunctionDef)(*function, to, status.as_ptr()) };
            status.check("TF_FunctionToFunctionDef")?;
            read_function(message.bytes())
        })
        .collect()
}

/// Functions, which are deleted with this.
struct List {
    tensorflow: TensorFlow,
    functions: Vec<*mut TF_Function>,
}

impl Drop for List {
    fn drop(&mut self) {
        for function in &self.functions {
            // SAFETY: the functions belong to this, and are deleted once; NULL is allowed.
            unsafe { (self.tensorflow.functions().TF_DeleteFunction)(*function) }
        }
    }
}

/// Reads a `FunctionDef`: the signature, with the name in its field 1, in field 1; the nodes, with
/// the op in their field 2, in field 3.
fn read_function(bytes: &[u8]) -> Result<Function, TensorFlowError> {
    let mut function = Function::default();
    let mut fields = Fields::new("FunctionDef", bytes);
    while let Some((number, value)) = fields.next()? {
        match (number, value) {
            (1, Value::Bytes(signature)) => {
                function.name = read_text("signature of a FunctionDef", signature, 1)?;
            }
            (3, Value::Bytes(node)) => function.ops.push(read_text("NodeDef", node, 2)?),
            _ => {}
        }
    }
    Ok(function)
}

/// Reads a string of a message, by the number of its field.
fn read_text(what: &'static str, bytes: &[u8], field: u64) -> Result<String, TensorFlowError> {
    let mut text = String::new();
    let mut fields = Fields::new(what, bytes);
    while let Some((number, value)) = fields.next()? {
        if let (true, Value::Bytes(bytes)) = (number == field, value) {
            text = String::from_utf8_lossy(bytes).into_owned();
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_ops_are_read() {
        // The signature has a name; the nodes have a name, and an op each.
        let message = b"\x0a\x03\x0a\x01f\x1a\x08\x0a\x01a\x12\x03Neg\x1a\x06\x12\x01g\x0a\x01b";
        let expected = Function {
            name: "f".to_owned(),
            ops: vec!["Neg".to_owned(), "g".to_owned()],
        };
        assert_eq!(read_function(message), Ok(expected));
    }
}
