//! Ops that may write to memory that isn't TensorFlow's: refused however they come.

use crate::fixture::{Check, Fixture, numbers};
use crate::protobuf::{bytes, bytes_with_long_length, float_type, int, library, node};
use dlbridge::Tensor;
use dlbridge::tensorflow::{Graph, Operation, SavedModel, Session, TensorFlowError};
use std::fs;

pub(crate) const CHECKS: &[Check] = &[
    ("eager_ops_that_write_their_inputs_are_refused", eager),
    (
        "graphs_with_ops_that_write_their_inputs_are_refused",
        graphs,
    ),
    ("functions_are_searched_as_the_graph_is", functions),
    ("saved_models_are_searched_as_graphs_are", saved_models),
    ("internal_ops_are_refused_by_name", internal),
    ("fused_ops_and_functions_with_an_underscore_run", allowed),
    ("functions_do_not_hide_ops", hidden),
];

const WRITERS: [&str; 4] = [
    "InplaceAdd",
    "InplaceSub",
    "InplaceUpdate",
    "_ParallelConcatUpdate",
];

fn text(op: &str) -> String {
    format!(
        "the op {op} writes to its inputs' memory, which may be read-only; use \
         TensorScatterUpdate instead"
    )
}

fn eager(fixture: &Fixture) {
    for name in WRITERS {
        let error = Operation::new(&fixture.context, name).unwrap_err();
        assert_eq!(error.to_string(), text(name));
    }
}

/// Encodes a field, by its number, with a string.
type Encoding = fn(u64, &[u8]) -> Vec<u8>;

/// A node that writes to `x`, and the placeholders of its other inputs; in a function, its
/// arguments.
fn writer(op: &str, encoding: Encoding) -> Vec<u8> {
    let placeholder =
        |name: &str, code: u64| node(name, "Placeholder", &[], &[("dtype", int(6, code))]);
    let entry = |name: &str, value: Vec<u8>| bytes(5, [bytes(1, name), bytes(2, value)].concat());
    let mut fields = vec![bytes(1, "y"), encoding(2, op.as_bytes()), bytes(3, "x")];
    if op.starts_with('_') {
        fields.extend([bytes(3, "v"), entry("loc", int(3, 1))]);
    } else {
        fields.extend([bytes(3, "i"), bytes(3, "v")]);
    }
    fields.push(entry("T", float_type()));
    [
        placeholder("i", 3),
        placeholder("v", 1),
        bytes(1, fields.concat()),
    ]
    .concat()
}

/// Encodings that TensorFlow reads alike.
fn encodings() -> [Encoding; 3] {
    [
        |field, value| bytes(field, value),
        |field, value| bytes_with_long_length(field, value),
        // The last one counts.
        |field, value| [bytes(field, "NoOp"), bytes_with_long_length(field, value)].concat(),
    ]
}

fn graphs(fixture: &Fixture) {
    for op in WRITERS {
        for encoding in encodings() {
            let x = node("x", "Placeholder", &[], &[("dtype", float_type())]);
            let graph = [x, writer(op, encoding)].concat();
            let error = Graph::from_graph_def(fixture.tensorflow, &graph).unwrap_err();
            assert_eq!(error, TensorFlowError::WritesInputs { op: op.to_owned() });
        }
    }
}

/// The nodes of a function, which are field 3 of it rather than 1.
fn in_function(nodes: &[u8]) -> Vec<u8> {
    let mut nodes = nodes.to_vec();
    let mut at = 0;
    while at < nodes.len() {
        assert!(nodes[at] == 0x0a && nodes[at + 1] < 0x80);
        nodes[at] = 0x1a;
        at += 2 + usize::from(nodes[at + 1]);
    }
    nodes
}

fn functions(fixture: &Fixture) {
    for op in WRITERS {
        for encoding in encodings() {
            let nodes = in_function(&writer(op, encoding));
            let graph = library("f", &nodes, "y:output:0");
            let error = Graph::from_graph_def(fixture.tensorflow, &graph).unwrap_err();
            assert_eq!(error, TensorFlowError::WritesInputs { op: op.to_owned() });
        }
    }
}

/// Writes a SavedModel with a graph.
fn save(graph: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tags = bytes(1, bytes(4, "serve"));
    let model = bytes(2, [tags, bytes(2, graph)].concat());
    fs::write(
        folder.path().join("saved_model.pb"),
        [int(1, 1), model].concat(),
    )
    .unwrap();
    folder
}

fn saved_models(fixture: &Fixture) {
    let x = node("x", "Placeholder", &[], &[("dtype", float_type())]);
    let same = node("same", "Identity", &["x"], &[("T", float_type())]);
    let folder = save(&[x.clone(), same].concat());
    let model = SavedModel::load(fixture.tensorflow, folder.path()).unwrap();
    let fed = numbers(&[2]);
    let fetched = model.session().run(&[("x", &fed)], &["same"]).unwrap();
    assert_eq!(fetched[0].data_ptr(), fed.data_ptr());
    for op in WRITERS {
        for encoding in encodings() {
            let nodes = writer(op, encoding);
            let function = library("f", &in_function(&nodes), "y:output:0");
            for graph in [[x.clone(), nodes].concat(), function] {
                let folder = save(&graph);
                let error = SavedModel::load(fixture.tensorflow, folder.path()).unwrap_err();
                assert_eq!(error, TensorFlowError::WritesInputs { op: op.to_owned() });
            }
        }
    }
}

fn internal(fixture: &Fixture) {
    let start = [
        ("dtype", float_type()),
        ("shape", bytes(7, bytes(2, int(1, 1)))),
    ];
    let graph = node("a", "_ParallelConcatStart", &[], &start);
    let in_graph = Graph::from_graph_def(fixture.tensorflow, &graph).unwrap_err();
    let alone = Operation::new(&fixture.context, "_ParallelConcatStart").unwrap_err();
    assert_eq!(in_graph, alone);
    assert_eq!(
        alone.to_string(),
        "the op _ParallelConcatStart is refused: it is internal to TensorFlow, and may write to \
         its inputs' memory; use the graph as it was before it was optimised"
    );
    let error = Operation::new(&fixture.context, "DatasetFromGraph").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the op DatasetFromGraph is refused: it runs a graph that it gets as data, whose ops \
         aren't checked; use the graph itself"
    );
}

/// `_FusedMatMul`, `_SwitchN`, and a node whose op is the name of a function.
fn allowed(fixture: &Fixture) {
    let t = || ("T", float_type());
    let negate = in_function(&node("n", "Neg", &["x"], &[t()]));
    let fused = bytes(1, bytes(2, "BiasAdd"));
    let graph = [
        node("x", "Placeholder", &[], &[("dtype", float_type())]),
        node("b", "Placeholder", &[], &[("dtype", float_type())]),
        node(
            "product",
            "_FusedMatMul",
            &["x", "x", "b"],
            &[t(), ("num_args", int(3, 1)), ("fused_ops", fused)],
        ),
        node("i", "Placeholder", &[], &[("dtype", int(6, 3))]),
        node(
            "case",
            "_SwitchN",
            &["product", "i"],
            &[t(), ("num_outs", int(3, 2))],
        ),
        node("y", "__inference_f_1", &["case:1"], &[]),
        library("__inference_f_1", &negate, "n:y:0"),
    ];
    let graph = Graph::from_graph_def(fixture.tensorflow, &graph.concat()).unwrap();
    let session = Session::new(&graph).unwrap();
    let (x, b) = (numbers(&[2, 2]), numbers(&[2]));
    let i = Tensor::scalar(1_i32);
    let feeds = [("x", &x), ("b", &b), ("i", &i)];
    let results = session.run(&feeds, &["y"]).unwrap();
    assert_eq!(
        results[0].to_vec::<f32>().unwrap(),
        [-2.0, -4.0, -6.0, -12.0]
    );
}

/// Functions with the names of ops: TensorFlow refuses them, so that a name means one thing.
fn hidden(fixture: &Fixture) {
    let negate = in_function(&node("n", "Neg", &["x"], &[("T", float_type())]));
    for op in [
        "_ParallelConcatUpdate",
        "_ParallelConcatStart",
        "InplaceAdd",
    ] {
        let graph = [
            node("x", "Placeholder", &[], &[("dtype", float_type())]),
            node("y", op, &["x"], &[]),
            library(op, &negate, "n:y:0"),
        ]
        .concat();
        Graph::from_graph_def(fixture.tensorflow, &graph).unwrap_err();
        SavedModel::load(fixture.tensorflow, save(&graph).path()).unwrap_err();
    }
}
