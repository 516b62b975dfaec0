//! [`Library`]: NVRTC and CUDA's headers, found once per process.

use super::headers;
use super::nvrtc::Nvrtc;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::library::find::{NotFound, Sought, packages, toolkits};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const NVRTC: Sought = Sought {
    names: ["libnvrtc.so.13", "libnvrtc.so.12"],
    of_packages: ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
    variable: "DLBRIDGE_NVRTC",
};

/// NVRTC, once it is known where it is.
pub(super) struct Library {
    /// The file, or the name by which the loader finds it.
    pub(super) path: PathBuf,
    /// Folders of CUDA's headers.
    pub(super) headers: Vec<PathBuf>,
    loaded: OnceLock<Nvrtc>,
    loading: Mutex<()>,
}

impl Library {
    /// Returns the library's functions. A failure isn't kept.
    pub(super) fn load(&self) -> Result<&Nvrtc, CudaError> {
        if let Some(nvrtc) = self.loaded.get() {
            return Ok(nvrtc);
        }
        let _alone = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nvrtc) = self.loaded.get() {
            return Ok(nvrtc);
        }
        let nvrtc = Nvrtc::load(&self.path)?;
        Ok(self.loaded.get_or_init(|| nvrtc))
    }
}

/// Configured path and found library, which stays loaded.
struct Places {
    told: Option<PathBuf>,
    found: Option<&'static Library>,
}

static PLACES: Mutex<Places> = Mutex::new(Places {
    told: None,
    found: None,
});

fn places() -> MutexGuard<'static, Places> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says where NVRTC is: the file, or the folder that it is in. The environment variable
/// `DLBRIDGE_NVRTC` comes before that.
pub fn set_nvrtc_path(path: impl Into<PathBuf>) {
    let mut places = places();
    places.told = Some(path.into());
    places.found = None;
}

/// Returns the library, looked for if it wasn't found yet.
pub(super) fn library() -> Result<&'static Library, CudaError> {
    let mut places = places();
    if let Some(found) = places.found {
        return Ok(found);
    }
    let not_found = |NotFound { told }| CudaError::NoCompiler { told };
    let path = NVRTC.look(places.told.clone()).map_err(not_found)?;
    let library = Library {
        headers: headers::beside(&path, &toolkits(), &packages()),
        path,
        loaded: OnceLock::new(),
        loading: Mutex::new(()),
    };
    let library = Box::leak(Box::new(library));
    places.found = Some(library);
    Ok(library)
}
