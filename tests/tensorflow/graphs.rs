//! Graphs and sessions: what is fed and fetched, and in which memory.

use crate::fixture::{Check, Counted, Fixture, numbers};
use crate::protobuf::{float_tensor, float_type, node};
use dlbridge::DType;
use dlbridge::tensorflow::{EagerTensor, Graph, Session, TfTensor};
use std::thread;

pub(crate) const CHECKS: &[Check] = &[
    ("graph_lists_its_operations", operations),
    ("session_computes_from_what_is_fed", computes),
    ("session_shares_fed_memory", shares_fed_memory),
    ("session_releases_fed_memory_once", releases_once),
    ("names_without_outputs_are_refused", names),
    ("feeds_that_cannot_be_shared_are_refused", feeds),
    ("malformed_graphs_are_refused", malformed),
    ("sessions_run_on_several_threads", threads),
];

/// `x` is fed; `same` is `x`, `negated` is `-x`, `sum` is `x + c`.
fn graph(fixture: &Fixture) -> Graph {
    let t = || ("T", float_type());
    let bytes = [
        node("x", "Placeholder", &[], &[("dtype", float_type())]),
        node("same", "Identity", &["x"], &[t()]),
        node("negated", "Neg", &["x"], &[t()]),
        node(
            "c",
            "Const",
            &[],
            &[
                ("dtype", float_type()),
                ("value", float_tensor(&[1.0, 2.0, 3.0])),
            ],
        ),
        node("sum", "AddV2", &["x", "c"], &[t()]),
    ];
    Graph::from_graph_def(fixture.tensorflow, &bytes.concat()).unwrap()
}

fn operations(fixture: &Fixture) {
    let operations = graph(fixture).operations();
    let expected = [
        ("x", "Placeholder"),
        ("same", "Identity"),
        ("negated", "Neg"),
        ("c", "Const"),
        ("sum", "AddV2"),
    ];
    assert_eq!(
        operations,
        expected.map(|(name, op)| (name.to_owned(), op.to_owned()))
    );
}

fn computes(fixture: &Fixture) {
    let graph = graph(fixture);
    let session = Session::new(&graph).unwrap();
    drop(graph);
    let x = numbers(&[3]);
    let results = session
        .run(&[("x", &x)], &["sum:0", "negated", "c"])
        .unwrap();
    let values: Vec<_> = results
        .iter()
        .map(|result| result.to_vec::<f32>().unwrap())
        .collect();
    assert_eq!(
        values,
        [
            vec![1.0, 3.0, 5.0],
            vec![0.0, -1.0, -2.0],
            vec![1.0, 2.0, 3.0]
        ]
    );
    drop(session);
    // Results don't need the session.
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [1.0, 3.0, 5.0]);
}

fn shares_fed_memory(fixture: &Fixture) {
    let session = Session::new(&graph(fixture)).unwrap();
    let x = numbers(&[3]);
    let results = session.run(&[("x", &x)], &["same", "negated"]).unwrap();
    // What the graph passes on is in the memory that was fed.
    assert_eq!(results[0].data_ptr(), x.data_ptr());
    assert_ne!(results[1].data_ptr(), x.data_ptr());
    assert!(results.iter().all(|result| result.is_read_only()));
    // SAFETY: the memory is this test's, and nothing runs meanwhile.
    unsafe { x.data_ptr().cast_mut().cast::<f32>().write(5.0) };
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [5.0, 1.0, 2.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [0.0, -1.0, -2.0]);
    // A tensor that is made once can be fed many times, and sees what was written meanwhile.
    let fed = [("x", TfTensor::from_tensor(fixture.tensorflow, &x).unwrap())];
    for value in [1.0, 2.0, 3.0] {
        // SAFETY: the memory is this test's, and nothing runs meanwhile.
        unsafe { x.data_ptr().cast_mut().cast::<f32>().write(value) };
        let results = session.run_tf(&fed, &["negated"]).unwrap();
        assert_eq!(
            results[0].to_tensor().unwrap().to_vec::<f32>().unwrap()[0],
            -value
        );
    }
    // The C library's results are eager tensors without a copy.
    let results = session.run_tf(&fed, &["negated"]).unwrap();
    let eager = EagerTensor::from_tf_tensor(&fixture.context, &results[0]).unwrap();
    assert_eq!(eager.to_tensor().unwrap().data_ptr(), results[0].data_ptr());
}

fn releases_once(fixture: &Fixture) {
    let session = Session::new(&graph(fixture)).unwrap();
    let mut memory = Counted::new(&[3], DType::F32);
    let x = memory.take();
    let mut results = session.run(&[("x", &x)], &["same", "negated"]).unwrap();
    drop(x);
    assert_eq!(memory.releases(), 0, "the first result is in this memory");
    results.remove(0);
    assert_eq!(memory.releases(), 1);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [0.0; 3]);
}

fn names(fixture: &Fixture) {
    let session = Session::new(&graph(fixture)).unwrap();
    let refused = |name: &str| session.run(&[], &[name]).unwrap_err().to_string();
    assert_eq!(
        refused("y"),
        "the graph has no output \"y\": there is no operation \"y\""
    );
    assert_eq!(
        refused("c:1"),
        "the graph has no output \"c:1\": \"c\" has 1 outputs"
    );
    assert_eq!(
        refused("c:x"),
        "the graph has no output \"c:x\": expected a number after the colon, got \"x\""
    );
}

fn feeds(fixture: &Fixture) {
    let session = Session::new(&graph(fixture)).unwrap();
    let misaligned = numbers(&[4]).slice(0, 1..4).unwrap();
    let error = session.run(&[("x", &misaligned)], &["same"]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("expected an address aligned to 64 bytes"),
        "{error}"
    );
    let other = dlbridge::Tensor::from_slice(&[1_i32, 2, 3], &[3]).unwrap();
    let error = session.run(&[("x", &other)], &["same"]).unwrap_err();
    assert!(
        error.to_string().starts_with("TF_SessionRun failed with "),
        "{error}"
    );
    let error = session.run(&[], &["negated"]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("TF_SessionRun failed with INVALID_ARGUMENT"),
        "{error}"
    );
}

fn malformed(fixture: &Fixture) {
    let error = Graph::from_graph_def(fixture.tensorflow, b"no graph").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("TF_GraphImportGraphDef failed with INVALID_ARGUMENT: "),
        "{text}"
    );
    let unknown = node("a", "NoSuchOp", &[], &[]);
    let error = Graph::from_graph_def(fixture.tensorflow, &unknown).unwrap_err();
    assert!(error.to_string().contains("NoSuchOp"), "{error}");
}

fn threads(fixture: &Fixture) {
    let session = Session::new(&graph(fixture)).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let session = &session;
            scope.spawn(move || {
                let x = dlbridge::Tensor::full(&[3], number as f32).unwrap();
                for _ in 0..50 {
                    let results = session.run(&[("x", &x)], &["sum"]).unwrap();
                    let expected = [1.0, 2.0, 3.0].map(|c| c + number as f32);
                    assert_eq!(results[0].to_vec::<f32>().unwrap(), expected);
                }
            });
        }
    });
}
