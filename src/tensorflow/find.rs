//! Search order for TensorFlow's library. The first of these that has it wins:
//!
//! 1. the process, if it is loaded already;
//! 2. the folder or file that `DLBRIDGE_TENSORFLOW` names;
//! 3. the packages of a Python: of the virtual environment that `VIRTUAL_ENV` names, of `python3`,
//!    of `python`.
//!
//! A folder is that of the Python package, one with such a package in it, or an unpacked release
//! for C, which has the library in `lib`. It asks Python for the place of its package, and doesn't
//! import it. The current directory isn't one of Python's folders: a package in it isn't used, and
//! no code in it is run.

use super::error::TensorFlowError;
use libloading::os::unix::Library;
use std::env;
use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names a folder with the library, or its file.
pub(super) const VARIABLE: &str = "DLBRIDGE_TENSORFLOW";

/// The library of the Python package, and that of a release for C.
#[cfg(not(target_os = "macos"))]
pub(super) const NAMES: [&str; 2] = ["libtensorflow_cc.so.2", "libtensorflow.so.2"];
/// The library of the Python package, and that of a release for C.
#[cfg(target_os = "macos")]
pub(super) const NAMES: [&str; 2] = ["libtensorflow_cc.2.dylib", "libtensorflow.2.dylib"];

/// Prints the folder of the package, without importing it. Modules of the current directory, which
/// `-c` puts first, would be imported by `importlib.util` and by the search; `sys` is built in.
const PROGRAM: &str = "\
import sys
sys.path[:] = [p for p in sys.path if p]
import importlib.util as u
s = u.find_spec('tensorflow')
print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')";

/// Returns the library that the process has already, and its name.
pub(super) fn in_process() -> Option<(Library, &'static str)> {
    NAMES.into_iter().find_map(|name| {
        let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
        // SAFETY: nothing is loaded, so no initialiser runs: the flag returns what is there
        // already.
        let library = unsafe { Library::open(Some(name), flags) };
        Some((library.ok()?, name))
    })
}

/// Returns the library's file, without looking in the process.
pub(super) fn anywhere() -> Result<PathBuf, TensorFlowError> {
    let mut places = vec!["this process (not loaded)".to_owned()];
    if let Some(named) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        // What the user names is used or is an error.
        return in_folder(Path::new(&named)).map_err(|place| not_found(vec![place]));
    }
    places.push(format!("{VARIABLE} (not set)"));
    for python in pythons() {
        match by_python(&python) {
            Ok(file) => return Ok(file),
            Err(place) => places.push(place),
        }
    }
    Err(not_found(places))
}

pub(super) fn not_found(places: Vec<String>) -> TensorFlowError {
    let names = NAMES.to_vec();
    TensorFlowError::NotFound { names, places }
}

/// Returns the interpreters whose packages are looked through.
fn pythons() -> Vec<PathBuf> {
    let environment = env::var_os("VIRTUAL_ENV").filter(|value| !value.is_empty());
    let of_environment = environment.map(|folder| Path::new(&folder).join("bin/python"));
    let on_path = ["python3", "python"].map(PathBuf::from);
    of_environment.into_iter().chain(on_path).collect()
}

/// Returns the library in a folder, or named itself; otherwise says where it was looked for.
pub(super) fn in_folder(folder: &Path) -> Result<PathBuf, String> {
    if folder.is_file() {
        return Ok(folder.to_owned());
    }
    let places = [
        folder.to_owned(),
        folder.join("lib"),
        folder.join("tensorflow"),
    ];
    let mut files = places
        .iter()
        .flat_map(|place| NAMES.map(|name| place.join(name)));
    files.find(|file| file.is_file()).ok_or_else(|| {
        let kind = if folder.is_dir() {
            "not in it"
        } else {
            "no such folder or file"
        };
        format!("{} ({kind})", folder.display())
    })
}

/// Returns the library of a Python's package; otherwise says why there is none.
pub(super) fn by_python(python: &Path) -> Result<PathBuf, String> {
    let place = |problem: &str| format!("{} ({problem})", python.display());
    let mut command = Command::new(python);
    command.args(["-c", PROGRAM]);
    if let Some(folders) = env::var_os("PYTHONPATH") {
        command.env("PYTHONPATH", without_empty(&folders));
    }
    let output = command.output();
    let output = output.map_err(|error| place(&error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("it failed");
        return Err(place(last));
    }
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if folder.is_empty() {
        return Err(place("no package tensorflow"));
    }
    in_folder(Path::new(&folder)).map_err(|inside| place(&format!("its package {inside}")))
}

/// Returns a list of folders without its empty ones, as of `/folder:`, which mean the current
/// directory.
fn without_empty(folders: &OsStr) -> OsString {
    let named = env::split_paths(folders).filter(|folder| !folder.as_os_str().is_empty());
    env::join_paths(named).unwrap_or_default()
}

/// Returns the file that a function is from.
pub(super) fn file_of(function: *const ()) -> Option<PathBuf> {
    // SAFETY: the struct is plain numbers and pointers, of which zeros are values.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be queried, and the struct is written here.
    let found = unsafe { libc::dladdr(function.cast(), &mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of the file, which lives as long as it is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Returns the library, which the process has loaded, that a function is from.
#[cfg(feature = "python")]
pub(crate) fn library_of(function: *const ()) -> Option<Library> {
    let flags = libc::RTLD_NOW | libc::RTLD_NOLOAD;
    // SAFETY: nothing is loaded, so no initialiser runs: the flag returns what is there already.
    unsafe { Library::open(Some(file_of(function)?), flags) }.ok()
}
