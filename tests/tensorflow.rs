//! TensorFlow's C library: tensors, ops, graphs and SavedModels, without Python.
//!
//! The library is that of the Python that `PYO3_PYTHON` names or that is in `.venv`;
//! `DLBRIDGE_TENSORFLOW` can name another one. All tests that need it are in this program, as
//! loading it takes a second. What aborts the process, or needs one without TensorFlow, runs in
//! children of this program.

#[cfg(unix)]
#[path = "tensorflow/children.rs"]
mod children;
#[cfg(unix)]
#[path = "tensorflow/combinations.rs"]
mod combinations;
#[cfg(unix)]
#[path = "tensorflow/dlpack.rs"]
mod dlpack;
#[cfg(unix)]
#[path = "tensorflow/eager.rs"]
mod eager;
#[cfg(unix)]
#[path = "tensorflow/examples.rs"]
mod examples;
#[cfg(unix)]
#[path = "tensorflow/fixture.rs"]
mod fixture;
#[cfg(unix)]
#[path = "tensorflow/graphs.rs"]
mod graphs;
#[cfg(unix)]
#[path = "tensorflow/inputs.rs"]
mod inputs;
#[cfg(unix)]
#[path = "tensorflow/inspection.rs"]
mod inspection;
#[cfg(unix)]
#[path = "tensorflow/libraries.rs"]
mod libraries;
#[cfg(unix)]
#[path = "tensorflow/models.rs"]
mod models;
#[cfg(unix)]
#[path = "tensorflow/protobuf.rs"]
mod protobuf;
#[cfg(unix)]
#[path = "tensorflow/refusals.rs"]
mod refusals;
#[cfg(unix)]
#[path = "tensorflow/refused_ops.rs"]
mod refused_ops;
#[cfg(unix)]
#[path = "tensorflow/sharing.rs"]
mod sharing;
#[cfg(unix)]
#[path = "support/trials.rs"]
mod trials;
#[cfg(unix)]
#[path = "tensorflow/variables.rs"]
mod variables;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::sync::Arc;
    use trials::trial;

    if let Some(code) = children::run_inside() {
        return code;
    }
    let fixture = fixture::Fixture::find().map(Arc::new);
    let mut all = Vec::new();
    let groups: [(&str, &[fixture::Check]); 13] = [
        ("sharing", sharing::CHECKS),
        ("combinations", combinations::CHECKS),
        ("refusals", refusals::CHECKS),
        ("eager", eager::CHECKS),
        ("inputs", inputs::CHECKS),
        ("dlpack", dlpack::CHECKS),
        ("variables", variables::CHECKS),
        ("graphs", graphs::CHECKS),
        ("models", models::CHECKS),
        ("refused_ops", refused_ops::CHECKS),
        ("inspection", inspection::CHECKS),
        ("children", children::CHECKS),
        ("examples", examples::CHECKS),
    ];
    for (group, checks) in groups {
        for &(name, check) in checks {
            // What it finds wrong, it panics with.
            all.push(trial(
                &format!("{group}::{name}"),
                &fixture,
                move |fixture| {
                    check(fixture);
                    Ok(())
                },
            ));
        }
    }
    // These need no TensorFlow.
    let compiler = libraries::Compiler::find().map(Arc::new);
    for &(name, check) in libraries::CHECKS {
        all.push(trial(
            &format!("libraries::{name}"),
            &compiler,
            move |compiler| {
                check(compiler);
                Ok(())
            },
        ));
    }
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), all).exit_code()
}

#[cfg(not(unix))]
fn main() {}
