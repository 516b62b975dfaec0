//! Finds NVIDIA's library and its headers among Python's packages.

use crate::trials::Missing;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Something that was found: a library, or the folder with headers.
pub(crate) struct Place {
    pub(crate) file: PathBuf,
}

/// The folder with Python's packages.
fn packages() -> Result<PathBuf, Missing> {
    let python = match env::var_os("PYO3_PYTHON") {
        Some(named) => PathBuf::from(named),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/python"),
    };
    let program = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let output = Command::new(&python).args(["-c", program]).output();
    let missing = |why| Missing::optional(format!("no cuBLASLt: {}: {why}", python.display()));
    let output = output.map_err(missing)?;
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}

fn first(packages: &Path, names: [&str; 2], what: &str) -> Result<Place, Missing> {
    let files = names.map(|name| packages.join(name));
    let found = files.into_iter().find(|file| file.exists());
    let missing = || {
        Missing::optional(format!(
            "no {what}: the package nvidia-cublas isn't in {}",
            packages.display()
        ))
    };
    found.map(|file| Place { file }).ok_or_else(missing)
}

/// The library: what `DLBRIDGE_CUBLASLT` names, or among the packages.
pub(crate) fn library() -> Result<Place, Missing> {
    let named = env::var_os("DLBRIDGE_CUBLASLT").filter(|value| !value.is_empty());
    if let Some(file) = named.map(PathBuf::from) {
        return match file.is_file() {
            true => Ok(Place { file }),
            false => Err(Missing::required(format!(
                "DLBRIDGE_CUBLASLT is {}, which is no file",
                file.display()
            ))),
        };
    }
    let names = [
        "nvidia/cu13/lib/libcublasLt.so.13",
        "nvidia/cublas/lib/libcublasLt.so.12",
    ];
    first(&packages()?, names, "libcublasLt")
}

/// The header, with those that it includes beside it.
pub(crate) fn headers() -> Result<Place, Missing> {
    if let Err(error) = Command::new("cc").arg("--version").output() {
        return Err(Missing::optional(format!("no C compiler: cc: {error}")));
    }
    let names = [
        "nvidia/cu13/include/cublasLt.h",
        "nvidia/cublas/include/cublasLt.h",
    ];
    first(&packages()?, names, "cublasLt.h")
}
