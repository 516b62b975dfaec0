//! Ops that write the memory of their inputs, even if TensorFlow doesn't own it.

use super::error::TensorFlowError;

/// All other ops write only to memory that TensorFlow allocated.
pub(super) const NAMES: [&str; 3] = ["InplaceAdd", "InplaceSub", "InplaceUpdate"];

/// Refuses the bytes of a `GraphDef` with such an op, in the graph or in a function.
pub(super) fn refuse_in(graph: &[u8]) -> Result<(), TensorFlowError> {
    for name in NAMES {
        // Field 2 of a `NodeDef`: the op's name, after its tag and length. No other field of nodes
        // looks so.
        let field: Vec<u8> = [0x12, name.len() as u8]
            .into_iter()
            .chain(name.bytes())
            .collect();
        if graph.windows(field.len()).any(|window| window == field) {
            return Err(TensorFlowError::WritesInputs {
                op: name.to_owned(),
            });
        }
    }
    Ok(())
}
