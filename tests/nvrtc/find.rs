//! Finds the compiler that the tests use.

use crate::trials::Missing;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler is there.
pub(crate) enum Found {
    /// The library finds it by itself.
    Told,
    /// It is among these Python packages.
    Packages(PathBuf),
}

impl Found {
    /// Tells the library.
    pub(crate) fn tell(&self) {
        if let Self::Packages(folder) = self {
            dlbridge::cuda::add_search_path(folder);
        }
    }
}

/// A test, by its name.
pub(crate) type Test = (&'static str, fn());

/// Where the compiler is, with CUDA's headers.
pub(crate) fn compiler() -> Result<Found, Missing> {
    let named = env::var_os("DLBRIDGE_NVRTC").filter(|value| !value.is_empty());
    if let Some(named) = named.map(PathBuf::from) {
        return match named.exists() {
            true => Ok(Found::Told),
            false => Err(Missing::required(format!(
                "DLBRIDGE_NVRTC is {}, which isn't there",
                named.display()
            ))),
        };
    }
    let python = match env::var_os("PYO3_PYTHON") {
        Some(named) => PathBuf::from(named),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/python"),
    };
    let program = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let missing = |why: String| Missing::optional(format!("no NVRTC: {}: {why}", python.display()));
    let output = Command::new(&python).args(["-c", program]).output();
    let output = output.map_err(|error| missing(error.to_string()))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let packages = [
        ("nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cu13/include"),
        (
            "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "nvidia/cuda_runtime/include",
        ),
    ];
    let has = |(library, headers): &(&str, &str)| {
        let headers = folder.join(headers).join("cuda_fp16.h");
        folder.join(library).is_file() && headers.is_file()
    };
    match packages.iter().any(has) {
        true => Ok(Found::Packages(folder)),
        false => Err(missing(
            "it has no packages nvidia-cuda-nvrtc and nvidia-cuda-runtime".to_owned(),
        )),
    }
}

/// Names functions as tests.
macro_rules! tests {
    ($($test:ident),* $(,)?) => {
        pub(crate) const TRIALS: &[$crate::find::Test] = &[$((stringify!($test), $test)),*];
    };
}
pub(crate) use tests;
