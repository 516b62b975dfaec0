//! Tests in processes of their own: what aborts, what measures memory, and what loads other
//! libraries.

#[path = "children/bare.rs"]
mod bare;
#[cfg(feature = "python")]
#[path = "children/embedded.rs"]
mod embedded;
#[path = "children/own.rs"]
mod own;

use crate::fixture::{Check, Fixture};
use dlbridge::tensorflow::Version;
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

pub(crate) const CHECKS: &[Check] = &[
    (
        "misaligned_memory_in_an_op_aborts_and_ours_does_not",
        misaligned,
    ),
    ("strings_through_dlpack_abort_and_ours_do_not", strings),
    ("many_round_trips_need_no_more_memory", flat),
    ("release_for_c_is_loaded_from_its_lib_folder", release_for_c),
    ("variable_names_the_library", variable),
    ("second_library_is_never_loaded", second),
    #[cfg(feature = "python")]
    ("library_of_an_imported_tensorflow_is_used", beside_import),
];

/// Says what a child does.
const CASE: &str = "DLBRIDGE_TEST_CASE";
/// Names a file or folder for a child.
const PLACE: &str = "DLBRIDGE_TEST_PLACE";

/// In a child, does what it is for.
pub(crate) fn run_inside() -> Option<ExitCode> {
    let case = env::var(CASE).ok()?;
    let place = env::var_os(PLACE).unwrap_or_default();
    let place = Path::new(&place);
    match case.as_str() {
        "misaligned_bare" => bare::run_op_on_misaligned_memory(place),
        "misaligned_ours" => own::refuse_misaligned_memory(place),
        "strings_bare" => bare::export_strings(place),
        "strings_ours" => own::refuse_strings(place),
        "flat" => own::stay_flat(place),
        "load" => own::load(),
        "load_path" => own::load_path(place),
        "load_process" => own::load_process(),
        "load_two" => own::load_two(place),
        #[cfg(feature = "python")]
        "memory_example" => own::run_memory_example(place),
        #[cfg(feature = "python")]
        "beside_import" => embedded::use_imported(),
        other => panic!("there is no case {other}"),
    }
    Some(ExitCode::SUCCESS)
}

/// A child with nothing in its environment but what it needs to start.
pub(crate) fn child(case: &str, place: &Path) -> Command {
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .env_clear()
        .env(CASE, case)
        .env(PLACE, place)
        .env("TF_CPP_MIN_LOG_LEVEL", "3");
    for kept in ["PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR"] {
        if let Some(value) = env::var_os(kept) {
            child.env(kept, value);
        }
    }
    child
}

/// Runs a child that must succeed, and returns what it printed.
pub(crate) fn succeed(mut child: Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = child.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{status}: {said}");
    String::from_utf8_lossy(&stdout).trim().to_owned()
}

/// Runs a child that TensorFlow must abort.
fn abort(mut child: Command) {
    use std::os::unix::process::ExitStatusExt;
    let Output {
        status,
        stdout,
        stderr,
    } = child.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!(
        String::from_utf8_lossy(&stdout).trim(),
        "about to abort",
        "{status}: {said}"
    );
    assert!(
        status.signal().is_some(),
        "expected a signal, got {status}: {said}"
    );
}

fn misaligned(fixture: &Fixture) {
    abort(child("misaligned_bare", fixture.tensorflow.path()));
    succeed(child("misaligned_ours", fixture.tensorflow.path()));
}

fn strings(fixture: &Fixture) {
    // Releases up to 2.19 return nothing instead.
    if fixture.tensorflow.version()
        >= (Version {
            major: 2,
            minor: 21,
        })
    {
        abort(child("strings_bare", fixture.tensorflow.path()));
    }
    succeed(child("strings_ours", fixture.tensorflow.path()));
}

fn flat(fixture: &Fixture) {
    succeed(child("flat", fixture.tensorflow.path()));
}

/// The layout of the release for C, with links to the package's files.
fn release_for_c(fixture: &Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let lib = folder.path().join("lib");
    std::fs::create_dir(&lib).unwrap();
    let package = fixture.tensorflow.path().parent().unwrap();
    let link = |from: &str, to: &str| {
        let from = std::fs::canonicalize(package.join(from)).unwrap();
        std::os::unix::fs::symlink(from, lib.join(to)).unwrap();
    };
    link(
        "libtensorflow_framework.so.2",
        "libtensorflow_framework.so.2",
    );
    link("libtensorflow_cc.so.2", "libtensorflow.so.2");
    let said = succeed(child("load_path", folder.path()));
    let version = fixture.tensorflow.version_text();
    assert!(said.starts_with(&format!("loaded {version} ")), "{said}");
}

fn variable(fixture: &Fixture) {
    let package = fixture.tensorflow.path().parent().unwrap();
    let mut child = child("load", Path::new(""));
    child
        .env("DLBRIDGE_TENSORFLOW", package)
        .env("PATH", "/nowhere");
    let said = succeed(child);
    assert!(said.starts_with("loaded "), "{said}");
}

fn second(fixture: &Fixture) {
    let folder = tempfile::tempdir().unwrap();
    let package = fixture.tensorflow.path().parent().unwrap();
    let package = std::fs::canonicalize(package).unwrap();
    std::os::unix::fs::symlink(package, folder.path().join("first")).unwrap();
    let second = folder.path().join("second");
    std::fs::create_dir(&second).unwrap();
    std::fs::write(second.join("libtensorflow_cc.so.2"), "another").unwrap();
    let said = succeed(child("load_two", folder.path()));
    let (first, other) = said.split_once('\n').unwrap();
    assert!(first.starts_with("loaded "), "{first}");
    let second = second.join("libtensorflow_cc.so.2");
    let expected = format!(
        "expected no other TensorFlow in this process than {}, found ",
        second.display()
    );
    assert!(other.starts_with(&expected), "{other}");
    let end = "loaded already; use that one, by TensorFlow::from_process()";
    assert!(other.ends_with(end), "{other}");
}

/// Lets an embedded Python find the packages of the environment.
#[cfg(feature = "python")]
pub(crate) fn with_packages(mut child: Command) -> Command {
    let packages = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output = Command::new(crate::fixture::python())
        .args(["-c", packages])
        .output()
        .unwrap();
    child.env(
        "PYTHONPATH",
        String::from_utf8(output.stdout).unwrap().trim(),
    );
    child
}

#[cfg(feature = "python")]
fn beside_import(_: &Fixture) {
    succeed(with_packages(child("beside_import", Path::new(""))));
}
