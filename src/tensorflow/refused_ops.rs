//! Ops that may write to memory that TensorFlow doesn't own, and are refused for it.

use super::error::TensorFlowError;

/// They write to their first input, whether TensorFlow owns it or not.
const WRITERS: [&str; 4] = [
    "InplaceAdd",
    "InplaceSub",
    "InplaceUpdate",
    "_ParallelConcatUpdate",
];

/// Internal ops of which graphs consist that were frozen or written after an optimisation: bounds
/// of functions and `_SwitchN`, which is a branch of `tf.switch_case`, pass tensors on; fused ops
/// write to outputs that they allocate.
///
/// All other internal ops are made while a graph runs, by TensorFlow itself. Some of them write to
/// inputs or to parts of other tensors' memory, as it has them only where that is right.
const INTERNAL: [&str; 7] = [
    "_Arg",
    "_FusedBatchNormEx",
    "_FusedConv2D",
    "_FusedDepthwiseConv2dNative",
    "_FusedMatMul",
    "_Retval",
    "_SwitchN",
];

/// Refuses an op that writes to its inputs, or of which that isn't known.
pub(super) fn check(op: &str) -> Result<(), TensorFlowError> {
    if WRITERS.contains(&op) {
        return Err(TensorFlowError::WritesInputs { op: op.to_owned() });
    }
    let problem = if op.starts_with('_') && !INTERNAL.contains(&op) {
        "it is internal to TensorFlow, and may write to its inputs' memory; use the graph as it \
         was before it was optimised"
    } else if op == "DatasetFromGraph" {
        "it runs a graph that it gets as data, whose ops aren't checked; use the graph itself"
    } else {
        return Ok(());
    };
    Err(TensorFlowError::RefusedOp {
        op: op.to_owned(),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_ops_are_refused_unless_they_are_known() {
        for op in [
            "AddV2",
            "Inplace",
            "_FusedMatMul",
            "_Arg",
            "_SwitchN",
            "ParallelConcat",
        ] {
            assert_eq!(check(op), Ok(()), "{op}");
        }
        for op in [
            "_ParallelConcatStart",
            "_MklConv2D",
            "__MklDummyConv2DWithBias",
            "_",
        ] {
            let text = check(op).unwrap_err().to_string();
            assert!(
                text.starts_with(&format!("the op {op} is refused: it is internal")),
                "{text}"
            );
        }
    }
}
