//! Runs tests with the double of NVIDIA's run-time compiler (`tests/libnvrtc`) in its place.

use crate::double::{before_others, in_child, is_child, library_folder};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A folder with the double under the compiler's name.
pub(crate) fn compiler_folder() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    library_folder(&BUILT, "tests/libnvrtc", "libnvrtc.so", &["libnvrtc.so.13"])
}

/// What the environment must not say, as it would find another compiler.
pub(crate) const NOTHING_ELSE: [(&str, &str); 5] = [
    ("DLBRIDGE_NVRTC", ""),
    ("CUDA_PATH", ""),
    ("CUDA_HOME", ""),
    ("CONDA_PREFIX", ""),
    ("XDG_CACHE_HOME", ""),
];

/// Runs the body in a child process that finds the compiler's double, with a folder of its own.
pub(crate) fn with_compiler(test: &str, environment: &[(&str, &str)], body: fn()) {
    with_compiler_in_each(test, [environment], body);
}

/// The same, in a child process for each of some environments.
pub(crate) fn with_compiler_in_each<'a>(
    test: &str,
    environments: impl IntoIterator<Item = &'a [(&'a str, &'a str)]>,
    body: fn(),
) {
    if is_child() {
        return body();
    }
    for environment in environments {
        let root = tempfile::tempdir().unwrap();
        let own = surroundings(root.path());
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let all: Vec<_> = own.chain(environment.iter().copied()).collect();
        in_child(test, &compiler_folder(), &all, body);
    }
}

/// The environment of a child process that has its cache, its home and the compiler's journal in a
/// folder.
fn surroundings(root: &Path) -> Vec<(&'static str, String)> {
    let place = |name: &str| root.join(name).display().to_string();
    let nothing = NOTHING_ELSE
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    let own = [
        ("HOME", place("home")),
        ("DLBRIDGE_CACHE", place("cache")),
        ("LIBNVRTC_DOUBLE_JOURNAL", place("journal")),
    ];
    nothing.chain(own).collect()
}

/// A child process for a test, that waits to be started.
pub(crate) fn child(root: &Path, test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "--nocapture", test])
        .env("DLBRIDGE_TEST_IN_CHILD", "1")
        .env("LD_LIBRARY_PATH", before_others(compiler_folder().into()))
        .envs(surroundings(root));
    child
}

/// How often a function of the compiler's was called, in all processes that have the folder.
pub(crate) fn compiler_calls(function: &str) -> usize {
    let is_call = |line: &&str| line.split(' ').next() == Some(function);
    journal().lines().filter(is_call).count()
}

/// The compiler's calls, one a line.
pub(crate) fn journal() -> String {
    fs::read_to_string(std::env::var_os("LIBNVRTC_DOUBLE_JOURNAL").unwrap()).unwrap_or_default()
}

/// The folder in which compiled kernels are kept.
pub(crate) fn cache() -> PathBuf {
    std::env::var_os("DLBRIDGE_CACHE").unwrap().into()
}
