//! NVIDIA's own run-time compiler, on kernels that are like those of the ops: no GPU is needed for
//! that.
//!
//! It is the one that `DLBRIDGE_NVRTC` names, or a package of the Python that `PYO3_PYTHON` names
//! or that is in `.venv`. What is made of its answers where it isn't installed, `cuda/compile.rs`
//! tests.

#[cfg(unix)]
#[path = "cuda/double.rs"]
#[allow(dead_code, reason = "these tests need only some of it")]
mod double;
#[cfg(unix)]
#[path = "nvrtc/find.rs"]
mod find;
#[cfg(unix)]
#[path = "nvrtc/images.rs"]
mod images;
#[cfg(unix)]
#[path = "nvrtc/loading.rs"]
mod loading;
#[cfg(unix)]
#[path = "nvrtc/messages.rs"]
mod messages;
#[cfg(unix)]
#[path = "support/trials.rs"]
mod trials;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    let folder = tempfile::tempdir().expect("there is a folder for files that go");
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("DLBRIDGE_CACHE", folder.path()) };
    let compiler = find::compiler().map(std::sync::Arc::new);
    let groups = [
        ("images", images::TRIALS),
        ("loading", loading::TRIALS),
        ("messages", messages::TRIALS),
    ];
    let mut all = Vec::new();
    for (group, trials) in groups {
        for &(name, body) in trials {
            let name = format!("{group}::{name}");
            all.push(trials::trial(
                &name,
                &compiler,
                move |found: &find::Found| {
                    found.tell();
                    // What it finds wrong, it panics with.
                    body();
                    Ok(())
                },
            ));
        }
    }
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), all).exit_code()
}

#[cfg(not(unix))]
fn main() {}
