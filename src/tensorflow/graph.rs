//! [`Graph`]: operations with their edges, imported from a `GraphDef`.

mod function_library;

use super::error::TensorFlowError;
use super::functions::{TF_Graph, TF_Output};
use super::library::TensorFlow;
use super::refused_ops;
use super::status::{Status, c_name};
use std::collections::HashSet;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::sync::Arc;

/// A graph of TensorFlow. Cloning it gives another handle to the same.
#[derive(Clone)]
pub struct Graph {
    inner: Arc<Inner>,
}

struct Inner {
    graph: *mut TF_Graph,
    tensorflow: TensorFlow,
}

// SAFETY: TensorFlow's graphs may be used on any thread.
unsafe impl Send for Inner {}
// SAFETY: TensorFlow locks a graph in each of its functions.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: the graph belongs to this; sessions keep it.
        unsafe { (self.tensorflow.functions().TF_DeleteGraph)(self.graph) }
    }
}

impl Graph {
    pub(super) fn new(tensorflow: TensorFlow) -> Self {
        // SAFETY: the function takes nothing, and never fails.
        let graph = unsafe { (tensorflow.functions().TF_NewGraph)() };
        let inner = Arc::new(Inner { graph, tensorflow });
        Self { inner }
    }

    /// Imports a graph from the bytes of a `GraphDef`, as
    /// `tf.Graph.as_graph_def().SerializeToString()` writes them.
    ///
    /// # Errors
    ///
    /// When the bytes aren't a graph, or one with ops that TensorFlow doesn't have, that write the
    /// memory of their inputs, or that are internal to it.
    pub fn from_graph_def(tensorflow: TensorFlow, bytes: &[u8]) -> Result<Self, TensorFlowError> {
        let graph = Self::new(tensorflow);
        let functions = tensorflow.functions();
        let mut status = Status::new(tensorflow);
        // SAFETY: the buffer is a copy of the bytes; buffer, options, graph and status live until
        // they are deleted.
        unsafe {
            let buffer = (functions.TF_NewBufferFromString)(bytes.as_ptr().cast(), bytes.len());
            let options = (functions.TF_NewImportGraphDefOptions)();
            let import = functions.TF_GraphImportGraphDef;
            import(graph.as_ptr(), buffer, options, status.as_ptr());
            (functions.TF_DeleteImportGraphDefOptions)(options);
            (functions.TF_DeleteBuffer)(buffer);
        }
        status.check("TF_GraphImportGraphDef")?;
        graph.check_ops()?;
        Ok(graph)
    }

    /// Returns the TensorFlow that it belongs to.
    pub fn tensorflow(&self) -> TensorFlow {
        self.inner.tensorflow
    }

    pub(super) fn as_ptr(&self) -> *mut TF_Graph {
        self.inner.graph
    }

    /// Returns all operations: name, and op.
    pub fn operations(&self) -> Vec<(String, String)> {
        let functions = self.tensorflow().functions();
        let mut position = 0;
        let mut operations = Vec::new();
        loop {
            // SAFETY: graph and position live.
            let next = unsafe { (functions.TF_GraphNextOperation)(self.as_ptr(), &mut position) };
            if next.is_null() {
                return operations;
            }
            // SAFETY: an operation's strings live as long as its graph.
            let (name, op) = unsafe {
                let (name, op) = (functions.TF_OperationName, functions.TF_OperationOpType);
                (text(name(next)), text(op(next)))
            };
            operations.push((name, op));
        }
    }

    /// Refuses ops that may write to memory that TensorFlow doesn't own, in the graph and in all of
    /// its functions.
    ///
    /// Reads what TensorFlow has, rather than the message it had it from: one graph can be written
    /// in many ways.
    pub(super) fn check_ops(&self) -> Result<(), TensorFlowError> {
        // SAFETY: the graph is of this TensorFlow, and lives as long as `self`.
        let functions = unsafe { function_library::read(self.tensorflow(), self.as_ptr()) }?;
        let names: HashSet<_> = functions.iter().map(|function| &function.name).collect();
        let operations = self.operations();
        let in_graph = operations.iter().map(|(_, op)| op);
        let in_functions = functions.iter().flat_map(|function| &function.ops);
        in_graph
            .chain(in_functions)
            // A node may call a function by its name, whose ops are checked.
            .filter(|op| !names.contains(op))
            .try_for_each(|op| refused_ops::check(op))
    }

    /// Returns the output of this name: `"y:0"`, or `"y"` for the first output of `y`.
    pub(super) fn output(&self, name: &str) -> Result<TF_Output, TensorFlowError> {
        let no_output = |problem: String| TensorFlowError::NoOutput {
            name: name.to_owned(),
            problem,
        };
        let (operation, index) = match name.rsplit_once(':') {
            None => (name, 0),
            Some((operation, index)) => match index.parse::<i32>() {
                Ok(index) if index >= 0 => (operation, index),
                _ => {
                    return Err(no_output(format!(
                        "expected a number after the colon, got {index:?}"
                    )));
                }
            },
        };
        let functions = self.tensorflow().functions();
        let c_operation = c_name(operation)?;
        // SAFETY: graph and name live.
        let oper =
            unsafe { (functions.TF_GraphOperationByName)(self.as_ptr(), c_operation.as_ptr()) };
        if oper.is_null() {
            return Err(no_output(format!("there is no operation {operation:?}")));
        }
        // SAFETY: the operation lives as long as the graph.
        let count = unsafe { (functions.TF_OperationNumOutputs)(oper) };
        if index >= count {
            return Err(no_output(format!("{operation:?} has {count} outputs")));
        }
        Ok(TF_Output { oper, index })
    }
}

/// Copies a string of C.
///
/// # Safety
///
/// It is one, and lives.
unsafe fn text(string: *const c_char) -> String {
    // SAFETY: it is a string of C that lives, a precondition of this function.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("operations", &self.operations().len())
            .finish()
    }
}
