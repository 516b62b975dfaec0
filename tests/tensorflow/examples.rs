//! The programs in `examples/tensorflow`, which assert their results.

#[path = "../../examples/tensorflow/inspection.rs"]
mod inspection;
#[cfg(feature = "kernels")]
#[path = "../../examples/tensorflow/matmul.rs"]
mod matmul;
#[cfg(feature = "python")]
#[path = "../../examples/tensorflow/memory.rs"]
pub(crate) mod memory;
#[path = "../../examples/tensorflow/replace.rs"]
mod replace;

use crate::fixture::Check;
#[cfg(feature = "python")]
use crate::fixture::Fixture;

pub(crate) const CHECKS: &[Check] = &[
    ("inspection_runs", |fixture| {
        inspection::run(fixture.tensorflow).unwrap()
    }),
    ("replace_runs", |fixture| {
        replace::run(fixture.tensorflow).unwrap()
    }),
    #[cfg(feature = "kernels")]
    ("matmul_runs", |fixture| {
        matmul::run(fixture.tensorflow).unwrap()
    }),
    #[cfg(feature = "python")]
    ("memory_runs", memory_runs),
];

/// In a child, as it embeds a Python.
#[cfg(feature = "python")]
fn memory_runs(fixture: &Fixture) {
    use crate::children::{child, succeed, with_packages};
    let said = succeed(with_packages(child(
        "memory_example",
        fixture.tensorflow.path(),
    )));
    assert!(
        said.ends_with("every write was seen on the other side"),
        "{said}"
    );
}
