//! Libraries that aren't there, or can't be used: each in a child, with one that is compiled for
//! it.

use crate::children::{child, succeed};
use crate::trials::Missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(crate) type LibraryCheck = (&'static str, fn(&Compiler));

pub(crate) const CHECKS: &[LibraryCheck] = &[
    ("absent_library_says_where_it_was_looked_for", absent),
    ("search_asks_pythons_in_turn", search),
    (
        "search_neither_uses_nor_runs_the_current_directory",
        current_directory,
    ),
    ("process_without_tensorflow_says_so", process),
    ("old_version_is_refused", old),
    ("missing_function_is_named", missing_function),
    ("library_of_something_else_is_refused", something_else),
    ("file_that_is_no_library_is_refused", no_library),
];

const NAMES: &str = "expected libtensorflow_cc.so.2 or libtensorflow.so.2";
const REMEDY: &str =
    "install the Python package tensorflow, or set DLBRIDGE_TENSORFLOW to its folder";

/// A C compiler.
pub(crate) struct Compiler;

impl Compiler {
    pub(crate) fn find() -> Result<Self, Missing> {
        match Command::new("cc").arg("--version").output() {
            Ok(_) => Ok(Self),
            Err(error) => Err(Missing::optional(format!("no C compiler: cc: {error}"))),
        }
    }

    /// Compiles a library of TensorFlow's name into a folder.
    fn library(&self, folder: &Path, code: &str) -> PathBuf {
        let (source, library) = (folder.join("fake.c"), folder.join("libtensorflow_cc.so.2"));
        fs::write(&source, code).unwrap();
        let mut compile = Command::new("cc");
        compile
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source);
        let output = compile.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        library
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn load_path(place: &Path) -> String {
    succeed(child("load_path", place))
}

fn absent(_: &Compiler) {
    let (folder, not_found) = (folder(), "TensorFlow's library was not found");
    let place = folder.path().display();
    let text = load_path(folder.path());
    assert_eq!(
        text,
        format!("{not_found}: {NAMES}; looked in {place} (not in it); {REMEDY}")
    );
    let text = load_path(&folder.path().join("gone"));
    let problem = format!("{place}/gone (no such folder or file)");
    assert_eq!(
        text,
        format!("{not_found}: {NAMES}; looked in {problem}; {REMEDY}")
    );
    // A folder that the user names is the only one that is looked in.
    let mut child = child("load", Path::new(""));
    child.env("DLBRIDGE_TENSORFLOW", folder.path());
    let text = succeed(child);
    assert_eq!(
        text,
        format!("{not_found}: {NAMES}; looked in {place} (not in it); {REMEDY}")
    );
}

/// Writes a program that stands for a Python.
fn python(folder: &Path, name: &str, script: &str) {
    // By another process: a child of this one that starts meanwhile would keep the file open for
    // writing, and such a file can't be run.
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let mut shell = Command::new("sh");
    shell
        .args(["-c", write, "sh", script])
        .arg(folder.join(name));
    assert!(shell.status().unwrap().success());
}

fn search(compiler: &Compiler) {
    let (folder, environment) = (folder(), folder());
    let search = |environment: &Path| {
        let mut child = child("load", Path::new(""));
        succeed({
            child
                .env("PATH", folder.path())
                .env("VIRTUAL_ENV", environment);
            child
        })
    };
    python(folder.path(), "python3", "echo");
    python(
        folder.path(),
        "python",
        "echo 'SyntaxError: old' >&2; exit 1",
    );
    let text = search(environment.path());
    let interpreter = environment.path().join("bin/python");
    let beginning = format!(
        "TensorFlow's library was not found: {NAMES}; looked in this process (not loaded), \
         DLBRIDGE_TENSORFLOW (not set), {} (No such file",
        interpreter.display()
    );
    assert!(text.starts_with(&beginning), "{text}");
    let end = format!("python3 (no package tensorflow), python (SyntaxError: old); {REMEDY}");
    assert!(text.ends_with(&end), "{text}");

    // That of the virtual environment is asked first, and its package is used.
    let package = folder.path().join("tensorflow");
    fs::create_dir(&package).unwrap();
    compiler.library(
        &package,
        "const char* TF_Version(void) { return \"2.2.0\"; }",
    );
    fs::create_dir(environment.path().join("bin")).unwrap();
    let script = format!("echo {}", package.display());
    python(&environment.path().join("bin"), "python", &script);
    let text = search(environment.path());
    assert!(
        text.starts_with("expected TensorFlow 2.12 or newer, below 3, found 2.2.0"),
        "{text}"
    );

    // A package without the library says so.
    fs::remove_file(package.join("libtensorflow_cc.so.2")).unwrap();
    let text = search(environment.path());
    let problem = format!("(its package {} (not in it))", package.display());
    assert!(text.contains(&problem), "{text}");
}

/// A package and a module of Python's library in the current directory, which `python -c` would
/// prefer to its own.
fn current_directory(compiler: &Compiler) {
    let (folder, current) = (folder(), folder());
    let interpreter = Some(crate::fixture::python()).filter(|python| python.is_file());
    let interpreter = interpreter.unwrap_or_else(|| "/usr/bin/env python3".into());
    let script = format!("exec {} \"$@\"", interpreter.display());
    python(folder.path(), "python3", &script);
    let package = current.path().join("tensorflow");
    fs::create_dir(&package).unwrap();
    compiler.library(
        &package,
        "const char* TF_Version(void) { return \"2.2.0\"; }",
    );
    for module in ["contextlib", "types", "warnings", "tensorflow/__init__"] {
        let code = "raise SystemExit('imported from the current directory')";
        fs::write(current.path().join(format!("{module}.py")), code).unwrap();
    }
    let search = |paths: &str| {
        let mut child = child("load", Path::new(""));
        let path = format!(
            "{}:{}",
            folder.path().display(),
            std::env::var("PATH").unwrap()
        );
        child.env("PATH", path).env("PYTHONPATH", paths);
        child.current_dir(current.path());
        succeed(child)
    };
    for paths in ["", "/nowhere:", ":/nowhere", "/nowhere::/nowhere"] {
        let text = search(paths);
        assert!(!text.contains("2.2.0"), "{paths}: {text}");
        assert!(!text.contains("current directory"), "{paths}: {text}");
    }
    // A folder that the user names is used.
    let elsewhere = self::folder();
    fs::rename(&package, elsewhere.path().join("tensorflow")).unwrap();
    let text = search(&format!("{}:", elsewhere.path().display()));
    assert!(text.contains("found 2.2.0"), "{text}");
}

fn process(_: &Compiler) {
    let text = succeed(child("load_process", Path::new("")));
    let place = "this process (not loaded)";
    let expected =
        format!("TensorFlow's library was not found: {NAMES}; looked in {place}; {REMEDY}");
    assert_eq!(text, expected);
}

fn old(compiler: &Compiler) {
    for version in ["2.11.1", "3.0.0", "nightly"] {
        let folder = folder();
        let code = format!("const char* TF_Version(void) {{ return \"{version}\"; }}");
        let library = compiler.library(folder.path(), &code);
        let expected = format!(
            "expected TensorFlow 2.12 or newer, below 3, found {version} in {}",
            library.display()
        );
        assert_eq!(load_path(folder.path()), expected);
    }
}

fn missing_function(compiler: &Compiler) {
    let folder = folder();
    let library = compiler.library(
        folder.path(),
        "const char* TF_Version(void) { return \"2.21.0\"; }\n\
         unsigned long TF_DataTypeSize(int type) { return type; }",
    );
    let expected = format!(
        "expected the function TF_NewStatus in {}, found none; TensorFlow 2.21.0 of this build \
         can't be used for it",
        library.display()
    );
    assert_eq!(load_path(folder.path()), expected);
}

fn something_else(compiler: &Compiler) {
    let folder = folder();
    let library = compiler.library(folder.path(), "int something(void) { return 1; }");
    let expected = format!(
        "expected the function TF_Version in {}, found none",
        library.display()
    );
    let text = load_path(&library);
    assert!(text.starts_with(&expected), "{text}");
}

fn no_library(_: &Compiler) {
    let folder = folder();
    let file = folder.path().join("libtensorflow_cc.so.2");
    fs::write(&file, "not a library").unwrap();
    let text = load_path(&file);
    let expected = format!("{} can't be loaded as TensorFlow: ", file.display());
    assert!(text.starts_with(&expected), "{text}");
    assert!(
        text.contains("file too short") || text.contains("invalid ELF header"),
        "{text}"
    );
}
