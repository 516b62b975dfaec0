//! Models that Python exports: run from Rust they give the same bits.

use crate::fixture::{Check, Fixture, python};
use dlbridge::Tensor;
use dlbridge::tensorflow::{Graph, SavedModel, Session};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

pub(crate) const CHECKS: &[Check] = &[
    ("saved_model_gives_the_bits_of_python", saved_model),
    ("saved_model_keeps_the_state_of_its_variables", variables),
    ("frozen_graph_gives_the_bits_of_python", frozen_graph),
    ("saved_model_that_is_not_there_is_refused", absent),
];

/// Exports the model once, as Python takes seconds to import TensorFlow.
fn exported() -> &'static Path {
    static EXPORTED: OnceLock<Result<TempDir, String>> = OnceLock::new();
    let folder = EXPORTED.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tensorflow/export_model.py");
        let output = Command::new(python())
            .arg(script)
            .arg(folder.path())
            .output()
            .unwrap();
        match output.status.success() {
            true => Ok(folder),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    });
    folder
        .as_ref()
        .unwrap_or_else(|said| panic!("{said}"))
        .path()
}

/// Reads numbers that NumPy wrote, into aligned memory.
fn read(name: &str, shape: &[usize]) -> Tensor {
    let bytes = fs::read(exported().join(name)).unwrap();
    let numbers: Vec<f32> = bytes
        .chunks(4)
        .map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()))
        .collect();
    Tensor::from_slice(&numbers, shape).unwrap()
}

/// The bits of the numbers.
fn bits(tensor: &Tensor) -> Vec<u32> {
    tensor
        .to_vec::<f32>()
        .unwrap()
        .into_iter()
        .map(f32::to_bits)
        .collect()
}

fn saved_model(fixture: &Fixture) {
    let (x, y) = (read("x.bin", &[5, 4]), read("y.bin", &[5, 3]));
    let model = SavedModel::load(fixture.tensorflow, exported().join("model")).unwrap();
    let signature = &model.signatures()["serving_default"];
    let input = &signature.inputs["x"];
    assert_eq!(input.name, "serving_default_x:0");
    assert_eq!(input.data_type.name(), "DT_FLOAT");
    assert_eq!(input.shape.as_deref(), Some(&[-1, 4][..]));
    assert_eq!(signature.outputs.keys().collect::<Vec<_>>(), ["same", "y"]);

    let results = model.run("serving_default", &[("x", &x)]).unwrap();
    assert_eq!(bits(&results["y"]), bits(&y));
    assert_eq!(results["y"].shape(), [5, 3]);
    assert_eq!(bits(&results["same"]), bits(&x));

    let refused = |signature: &str, inputs: &[(&str, &Tensor)]| {
        model.run(signature, inputs).unwrap_err().to_string()
    };
    assert_eq!(
        refused("other", &[]),
        "there is no signature \"other\"; expected one of [\"count\", \"serving_default\"]"
    );
    assert_eq!(
        refused("serving_default", &[("z", &x)]),
        "there is no input \"z\"; expected one of [\"x\"]"
    );
    assert_eq!(
        refused("serving_default", &[]),
        "expected a tensor for input \"x\" of signature \"serving_default\", got none"
    );
}

fn variables(fixture: &Fixture) {
    let load = || SavedModel::load(fixture.tensorflow, exported().join("model")).unwrap();
    let (model, other) = (load(), load());
    let count = |model: &SavedModel| {
        let results = model.run("count", &[]).unwrap();
        results["calls"].to_vec::<i64>().unwrap()
    };
    assert_eq!(
        [count(&model), count(&model), count(&other)],
        [[1], [2], [1]]
    );
}

fn frozen_graph(fixture: &Fixture) {
    let (x, y) = (read("x.bin", &[5, 4]), read("y.bin", &[5, 3]));
    let graph = fs::read(exported().join("graph.pb")).unwrap();
    let names = fs::read_to_string(exported().join("names.txt")).unwrap();
    let names: Vec<_> = names.lines().collect();
    let graph = Graph::from_graph_def(fixture.tensorflow, &graph).unwrap();
    let results = Session::new(&graph)
        .unwrap()
        .run(&[(names[0], &x)], &[names[1]])
        .unwrap();
    assert_eq!(bits(&results[0]), bits(&y));
}

fn absent(fixture: &Fixture) {
    let folder = TempDir::new().unwrap();
    let error = SavedModel::load(fixture.tensorflow, folder.path())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("TF_LoadSessionFromSavedModel failed with NOT_FOUND: "),
        "{error}"
    );
    let model = exported().join("model");
    let error = SavedModel::load_tagged(fixture.tensorflow, model, &["train"]).unwrap_err();
    assert!(error.to_string().contains("train"), "{error}");
}
