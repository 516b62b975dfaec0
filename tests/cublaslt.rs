//! Comparison of this crate's cuBLASLt declarations with NVIDIA's headers by a C program, and tests
//! of NVIDIA's own library as far as it needs no GPU: attributes that were set are read back.
//!
//! Both are a package of the Python that `PYO3_PYTHON` names or that is in `.venv`;
//! `DLBRIDGE_CUBLASLT` can name another library.

#[cfg(unix)]
#[path = "cublaslt/facts.rs"]
mod facts;
#[cfg(unix)]
#[path = "cublaslt/find.rs"]
mod find;
#[cfg(unix)]
#[allow(dead_code, reason = "these tests need only some of it")]
#[path = "../src/cuda/blas/header.rs"]
mod header;
#[cfg(unix)]
#[path = "cublaslt/library.rs"]
mod library;
#[cfg(unix)]
#[path = "support/trials.rs"]
mod trials;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::sync::Arc;
    use trials::trial;

    let headers = find::headers().map(Arc::new);
    let mut all = vec![trial("facts", &headers, facts::compare)];
    let library = find::library().map(Arc::new);
    for &(name, check) in library::CHECKS {
        all.push(trial(
            &format!("library::{name}"),
            &library,
            move |place: &find::Place| {
                // What it finds wrong, it panics with.
                check(&library::Blas::load(&place.file));
                Ok(())
            },
        ));
    }
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), all).exit_code()
}

#[cfg(not(unix))]
fn main() {}
