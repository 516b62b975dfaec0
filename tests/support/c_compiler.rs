//! Finds DLPack's C header and compiles C programs against it.
#![allow(
    dead_code,
    reason = "not every test that shares this builds both kinds of program"
)]

use crate::trials::Missing;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the directory that contains `dlpack/dlpack.h`.
const INCLUDE_VARIABLE: &str = "DLPACK_INCLUDE_DIR";

/// The header, below its include directory.
const HEADER: &str = "dlpack/dlpack.h";

const COMPILER: &str = "cc";

const FLAGS: [&str; 4] = ["-std=c11", "-Wall", "-Wextra", "-Werror"];

/// The C compiler, the header, and a directory for what they make, which goes when this does.
#[derive(Debug)]
pub(crate) struct Toolchain {
    include: PathBuf,
    outputs: PathBuf,
}

impl Toolchain {
    /// Looks for both. `user` names the test, in the outputs' directory.
    pub(crate) fn find(user: &str) -> Result<Self, Missing> {
        let include = include_dir()?;
        if let Err(error) = Command::new(COMPILER).arg("--version").output() {
            return Err(Missing::optional(format!(
                "no C compiler: {COMPILER}: {error}"
            )));
        }
        // Test runners start the same test in several processes at once.
        let name = format!("{user}-{}", std::process::id());
        Ok(Self {
            include,
            outputs: Path::new(env!("CARGO_TARGET_TMPDIR")).join(name),
        })
    }

    /// The header that programs are compiled against.
    pub(crate) fn header(&self) -> PathBuf {
        self.include.join(HEADER)
    }

    /// Compiles C sources, named from the repository's root, into a program.
    pub(crate) fn executable(&self, name: &str, sources: &[&str]) -> Result<PathBuf, String> {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.compile(&file, &[], sources)
    }

    /// Compiles C sources, named from the repository's root, into a library to load at run time.
    pub(crate) fn shared_library(&self, name: &str, sources: &[&str]) -> Result<PathBuf, String> {
        let file = format!("{name}{}", std::env::consts::DLL_SUFFIX);
        self.compile(&file, &["-shared", "-fPIC"], sources)
    }

    fn compile(&self, file: &str, flags: &[&str], sources: &[&str]) -> Result<PathBuf, String> {
        let directory = &self.outputs;
        fs::create_dir_all(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let program = directory.join(file);
        let mut command = Command::new(COMPILER);
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(FLAGS)
            .args(flags)
            // Not -I: warnings inside a header that is not ours are not errors.
            .arg("-isystem")
            .arg(&self.include)
            .args(sources)
            .arg("-o")
            .arg(&program);
        let output = command
            .output()
            .map_err(|error| format!("{COMPILER} did not start: {error}"))?;
        if output.status.success() {
            return Ok(program);
        }
        Err(format!(
            "{COMPILER} refused {} with {}:\n{}",
            sources.join(" "),
            self.header().display(),
            String::from_utf8_lossy(&output.stderr)
        ))
    }
}

impl Drop for Toolchain {
    fn drop(&mut self) {
        // What stays behind is in the target directory, and harmless.
        let _ = fs::remove_dir_all(&self.outputs);
    }
}

/// The directory that contains `dlpack/dlpack.h`: the one the environment names, or the one that
/// the repository's virtual environment has from the package `apache-tvm-ffi`.
pub(crate) fn include_dir() -> Result<PathBuf, Missing> {
    if let Some(named) = std::env::var_os(INCLUDE_VARIABLE) {
        let directory = PathBuf::from(named);
        if directory.join(HEADER).is_file() {
            // The compiler runs in the repository, the test where it was started.
            return std::path::absolute(&directory)
                .map_err(|error| Missing::required(format!("{INCLUDE_VARIABLE}: {error}")));
        }
        return Err(Missing::required(format!(
            "{INCLUDE_VARIABLE} is {}, and there is no {HEADER} in it",
            directory.display()
        )));
    }
    let mut found: Vec<PathBuf> = python_libraries()
        .into_iter()
        .map(|library| library.join("site-packages/tvm_ffi/include"))
        .filter(|include| include.join(HEADER).is_file())
        .collect();
    // More than one Python may have lived there; take the same one each time.
    found.sort();
    found.pop().ok_or_else(|| {
        Missing::optional(format!(
            "no {HEADER}: set {INCLUDE_VARIABLE}, or install apache-tvm-ffi into .venv"
        ))
    })
}

/// `.venv/lib/python3*` of the repository.
fn python_libraries() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/lib")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.is_some_and(|name| name.starts_with("python3"))
        })
        .collect()
}
