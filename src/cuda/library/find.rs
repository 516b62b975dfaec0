//! Where NVRTC is. The first of these that has it:
//!
//! 1. what the environment variable `DLBRIDGE_NVRTC` names, a file or its folder, or what [`set_nvrtc_path`] was told;
//! 2. the process, where a framework loaded it already;
//! 3. the folders of `LD_LIBRARY_PATH`, `CUDA_PATH`, `CUDA_HOME` and `CONDA_PREFIX`;
//! 4. Python's packages, in the folders that [`add_search_path`] was told of: they are what the frameworks in there use,
//!    and so no newer than the driver;
//! 5. `/usr/local/cuda`, and wherever else the loader looks.
//!
//! All but the last are looked for as files: loading the library takes 50 ms, and isn't needed for kernels that were
//! compiled before.

use super::headers;
use super::nvrtc::Nvrtc;
use crate::cuda::error::CudaError;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What the library is called, the newest first. A name without a number may be that of any version.
const NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Where the package of each CUDA has it, below the folder in which there are Python's packages.
const OF_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"];

/// The variable that has the last word.
const VARIABLE: &str = "DLBRIDGE_NVRTC";

/// NVRTC, once it is known where it is.
pub(super) struct Library {
    /// The file, or the name by which the loader finds it.
    pub(super) path: PathBuf,
    /// Where CUDA's headers are.
    pub(super) headers: Vec<PathBuf>,
    loaded: OnceLock<Nvrtc>,
    loading: Mutex<()>,
}

impl Library {
    /// The library's functions. A failure isn't kept.
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

/// What was told, and what was found. Libraries that were found stay.
struct Places {
    told: Option<PathBuf>,
    packages: Vec<PathBuf>,
    found: Option<&'static Library>,
}

static PLACES: Mutex<Places> = Mutex::new(Places {
    told: None,
    packages: Vec::new(),
    found: None,
});

fn places() -> MutexGuard<'static, Places> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says where NVRTC is: the file, or the folder that it is in. The environment variable `DLBRIDGE_NVRTC` comes before
/// that.
pub fn set_nvrtc_path(path: impl Into<PathBuf>) {
    let mut places = places();
    places.told = Some(path.into());
    places.found = None;
}

/// Has NVRTC, and CUDA's headers, be looked for among the Python packages in a folder (`site-packages`), too. It counts
/// until the library was found.
pub fn add_search_path(folder: impl Into<PathBuf>) {
    let folder = folder.into();
    let mut places = places();
    if !places.packages.contains(&folder) {
        places.packages.push(folder);
    }
}

/// The library, looked for if it wasn't found yet.
pub(super) fn library() -> Result<&'static Library, CudaError> {
    let mut places = places();
    if let Some(found) = places.found {
        return Ok(found);
    }
    let path = look(&places)?;
    let library = Library {
        headers: headers::beside(&path, &toolkits(), &places.packages),
        path,
        loaded: OnceLock::new(),
        loading: Mutex::new(()),
    };
    let library = Box::leak(Box::new(library));
    places.found = Some(library);
    Ok(library)
}

fn look(places: &Places) -> Result<PathBuf, CudaError> {
    let named = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    if let Some(told) = named.map(PathBuf::from).or_else(|| places.told.clone()) {
        return match told.is_file() {
            true => Ok(told),
            false => in_folder(&told).ok_or(CudaError::NoCompiler { told: Some(told) }),
        };
    }
    let in_process = || mapped().into_iter().next();
    let in_folders = || {
        let folders = folders(&loader_folders(), &toolkits(), &places.packages);
        folders.iter().find_map(|folder| in_folder(folder))
    };
    let found = in_process().or_else(in_folders).or_else(by_loader);
    found.ok_or(CudaError::NoCompiler { told: None })
}

/// The newest one in a folder.
fn in_folder(folder: &Path) -> Option<PathBuf> {
    let mut files = NAMES.iter().map(|name| folder.join(name));
    files.find(|file| file.is_file())
}

/// All folders in which it is looked for as a file.
fn folders(loader: &[PathBuf], toolkits: &[PathBuf], packages: &[PathBuf]) -> Vec<PathBuf> {
    let libraries = |root: &Path| ["lib64", "lib"].map(|name| root.join(name));
    let toolkits = toolkits.iter().flat_map(|root| libraries(root));
    let packages = packages
        .iter()
        .flat_map(|root| OF_PACKAGES.map(|name| root.join(name)));
    let loader = loader.iter().cloned();
    loader
        .chain(toolkits)
        .chain(packages)
        .chain(libraries(Path::new(INSTALLED)))
        .collect()
}

/// Where the loader was told to look.
fn loader_folders() -> Vec<PathBuf> {
    let value = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = env::split_paths(&value);
    folders.filter(|folder| folder.is_absolute()).collect()
}

/// Where the toolkit is put when nothing else is said.
pub(super) const INSTALLED: &str = "/usr/local/cuda";

/// Where the environment says that a toolkit is.
fn toolkits() -> Vec<PathBuf> {
    let variables = ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"];
    let values = variables.iter().filter_map(env::var_os);
    values
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// What the loader finds by name: that is loaded by this.
fn by_loader() -> Option<PathBuf> {
    let mut names = NAMES.iter().map(PathBuf::from);
    let name = names.find(|name| {
        // SAFETY: the library's beginning asks for nothing.
        let library = unsafe { libloading::Library::new(name) };
        // It stays loaded, as it is about to be used.
        library.map(std::mem::forget).is_ok()
    })?;
    Some(mapped().into_iter().next().unwrap_or(name))
}

/// The files of the library that this process has in its memory.
fn mapped() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    in_maps(&maps)
        .into_iter()
        .filter(|file| file.is_file())
        .collect()
}

/// A line is `7f12-7f13 r-xp 00000000 08:01 1234   /folder/file`, in which the folder may have spaces.
fn in_maps(maps: &str) -> Vec<PathBuf> {
    let path = |line: &str| Some(PathBuf::from(&line[line.find('/')?..]));
    let is_library = |file: &PathBuf| {
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        NAMES
            .iter()
            .any(|known| name.strip_prefix(known).is_some_and(is_version))
    };
    let mut files: Vec<_> = maps.lines().filter_map(path).filter(is_library).collect();
    files.dedup();
    files
}

/// What comes behind the number in a file's name: nothing, or more numbers.
fn is_version(rest: &str) -> bool {
    rest.is_empty()
        || rest.starts_with('.')
            && rest
                .bytes()
                .all(|byte| byte == b'.' || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processs_own_library_is_found() {
        let maps = "\
            7f00-7f01 r--p 00000000 08:01 11                         /usr/lib/libc.so.6\n\
            7f01-7f02 r--p 00000000 00:00 0 \n\
            7f02-7f03 r--p 00000000 08:01 12      /opt/my env/nvidia/cu13/lib/libnvrtc.so.13\n\
            7f03-7f04 r-xp 00001000 08:01 12      /opt/my env/nvidia/cu13/lib/libnvrtc.so.13\n\
            7f04-7f05 r-xp 00000000 08:01 13      /cuda/lib64/libnvrtc-builtins.so.12.4\n\
            7f05-7f06 r-xp 00000000 08:01 14      /cuda/lib64/libnvrtc.so.12.4.127\n\
            7f06-7f07 r-xp 00000000 08:01 15      /old/libnvrtc.so.11.2\n\
            7f07-7f08 r-xp 00000000 08:01 16      /gone/libnvrtc.so.12 (deleted)\n\
            7fff-8000 rw-p 00000000 00:00 0       [stack]\n";
        let found = in_maps(maps);
        let expected = [
            "/opt/my env/nvidia/cu13/lib/libnvrtc.so.13",
            "/cuda/lib64/libnvrtc.so.12.4.127",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(in_maps(""), [] as [PathBuf; 0]);
    }

    #[test]
    fn what_is_said_comes_before_packages_and_what_is_installed() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let found = folders(
            &paths(&["/loader"]),
            &paths(&["/cuda"]),
            &paths(&["/packages"]),
        );
        let expected = [
            "/loader",
            "/cuda/lib64",
            "/cuda/lib",
            "/packages/nvidia/cu13/lib",
            "/packages/nvidia/cuda_nvrtc/lib",
            "/usr/local/cuda/lib64",
            "/usr/local/cuda/lib",
        ];
        assert_eq!(found, paths(&expected));
    }
}
