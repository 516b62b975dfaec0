//! Search order for NVIDIA's libraries. The first of these that has the library wins:
//!
//! 1. the file or folder that its environment variable, or its `set_*_path` function, names;
//! 2. the process, if a framework has loaded it already;
//! 3. the folders of `LD_LIBRARY_PATH`, `CUDA_PATH`, `CUDA_HOME` and `CONDA_PREFIX`;
//! 4. Python packages in the folders of [`add_search_path`], which frameworks there use;
//! 5. `/usr/local/cuda`, and the loader's own search path.
//!
//! One of a newer CUDA than the driver's may not run on it. So of what wasn't named, such a library
//! is only taken where there is no other in any of these places. Without a driver to ask, as where
//! a program is only compiled, they are all the same.
//!
//! All but the last are looked for as files: loading a library takes long, and isn't always needed.

use crate::cuda::driver;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A library that is looked for.
pub(in crate::cuda) struct Sought {
    /// File names, with their CUDA version, the newest first.
    pub(in crate::cuda) names: [&'static str; 2],
    /// Where the package of each CUDA has it, below the folder in which there are Python's
    /// packages.
    pub(in crate::cuda) of_packages: [&'static str; 2],
    /// The variable that has the last word.
    pub(in crate::cuda) variable: &'static str,
}

/// The library was not found.
pub(in crate::cuda) struct NotFound {
    /// The configured path, if there is one.
    pub(in crate::cuda) told: Option<PathBuf>,
}

static PACKAGES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has NVRTC, CUDA's headers and cuBLASLt be looked for among the Python packages in a folder
/// (`site-packages`), too. It counts until they were found.
pub fn add_search_path(folder: impl Into<PathBuf>) {
    let folder = folder.into();
    let mut packages = PACKAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if !packages.contains(&folder) {
        packages.push(folder);
    }
}

/// Returns the folders in which there are Python's packages.
pub(in crate::cuda) fn packages() -> Vec<PathBuf> {
    let packages = PACKAGES.lock().unwrap_or_else(PoisonError::into_inner);
    packages.clone()
}

impl Sought {
    /// Returns what its variable says.
    pub(in crate::cuda) fn named(&self) -> Option<PathBuf> {
        let named = env::var_os(self.variable).filter(|value| !value.is_empty());
        named.map(PathBuf::from)
    }

    /// Returns the library's file, or the name by which the loader finds it. `told` is what the
    /// function for that was told.
    pub(in crate::cuda) fn look(&self, told: Option<PathBuf>) -> Result<PathBuf, NotFound> {
        let told = self.named().or(told);
        if let Some(file) = told.as_ref().filter(|told| told.is_file()) {
            return Ok(file.clone());
        }
        let groups = self.by_driver(driver::major());
        let mut groups = groups.iter();
        let found = match &told {
            Some(folder) => groups.find_map(|names| in_folder(folder, names)),
            None => groups.find_map(|names| self.anywhere(names)),
        };
        found.ok_or(NotFound { told })
    }

    /// Returns the names of what a driver of this CUDA runs, and of what it may be too old for.
    fn by_driver(&self, driver: Option<i32>) -> [Vec<&'static str>; 2] {
        let fits = |name: &&str| driver.is_none_or(|driver| cuda_of(name) <= Some(driver));
        let (fitting, newer) = self.names.into_iter().partition(fits);
        [fitting, newer]
    }

    /// Returns the first one of these names, in all places.
    fn anywhere(&self, names: &[&str]) -> Option<PathBuf> {
        let in_process = || mapped(names).into_iter().next();
        let in_folders = || {
            let folders = self.folders(&loader_folders(), &toolkits(), &packages());
            folders.iter().find_map(|folder| in_folder(folder, names))
        };
        let found = in_process().or_else(in_folders);
        found.or_else(|| by_loader(names))
    }

    /// Returns all folders in which it is looked for as a file.
    fn folders(
        &self,
        loader: &[PathBuf],
        toolkits: &[PathBuf],
        packages: &[PathBuf],
    ) -> Vec<PathBuf> {
        let libraries = |root: &Path| ["lib64", "lib"].map(|name| root.join(name));
        let toolkits = toolkits.iter().flat_map(|root| libraries(root));
        let packages = packages
            .iter()
            .flat_map(|root| self.of_packages.map(|name| root.join(name)));
        let loader = loader.iter().cloned();
        loader
            .chain(toolkits)
            .chain(packages)
            .chain(libraries(Path::new(INSTALLED)))
            .collect()
    }
}

/// Returns the major CUDA version in a library's name.
fn cuda_of(name: &str) -> Option<i32> {
    let (_, version) = name.split_once(".so.")?;
    version.parse().ok()
}

/// Returns the first one of these names in a folder.
fn in_folder(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut files = names.iter().map(|name| folder.join(name));
    files.find(|file| file.is_file())
}

/// Loads a library by name, through the loader's search path, and returns its file.
fn by_loader(names: &[&str]) -> Option<PathBuf> {
    let name = names.iter().find(|name| {
        // SAFETY: the library's beginning asks for nothing.
        let library = unsafe { libloading::Library::new(**name) };
        // It stays loaded, as it is about to be used.
        library.map(std::mem::forget).is_ok()
    })?;
    let file = mapped(&[name]).into_iter().next();
    Some(file.unwrap_or_else(|| PathBuf::from(name)))
}

/// Returns the files of these names that this process has in its memory.
fn mapped(names: &[&str]) -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    in_maps(&maps, names)
        .into_iter()
        .filter(|file| file.is_file())
        .collect()
}

/// Returns the paths of these libraries in the text of `/proc/self/maps`. A line is `7f12-7f13 r-xp
/// 00000000 08:01 1234   /folder/file`, in which the folder may have spaces.
fn in_maps(maps: &str, names: &[&str]) -> Vec<PathBuf> {
    let path = |line: &str| Some(PathBuf::from(&line[line.find('/')?..]));
    let is_library = |file: &PathBuf| {
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        names
            .iter()
            .any(|known| name.strip_prefix(known).is_some_and(is_version))
    };
    let mut files: Vec<_> = maps.lines().filter_map(path).filter(is_library).collect();
    files.dedup();
    files
}

/// Returns where the loader was told to look.
fn loader_folders() -> Vec<PathBuf> {
    let value = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = env::split_paths(&value);
    folders.filter(|folder| folder.is_absolute()).collect()
}

/// Default folder of the toolkit.
pub(in crate::cuda) const INSTALLED: &str = "/usr/local/cuda";

/// Returns where the environment says that a toolkit is.
pub(in crate::cuda) fn toolkits() -> Vec<PathBuf> {
    let variables = ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"];
    let values = variables.iter().filter_map(env::var_os);
    values
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// Returns whether this is what follows the major version in a file name: nothing, or more numbers.
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

    const NVRTC: Sought = Sought {
        names: ["libnvrtc.so.13", "libnvrtc.so.12"],
        of_packages: ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
        variable: "DLBRIDGE_NVRTC",
    };

    #[test]
    fn loaded_library_is_found() {
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
        let found = in_maps(maps, &NVRTC.names);
        let expected = [
            "/opt/my env/nvidia/cu13/lib/libnvrtc.so.13",
            "/cuda/lib64/libnvrtc.so.12.4.127",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
        assert_eq!(in_maps(maps, &["libnvrtc.so.12"]), found[1..]);
        assert_eq!(in_maps("", &NVRTC.names), [] as [PathBuf; 0]);
    }

    #[test]
    fn libraries_newer_than_the_driver_come_last() {
        let (thirteen, twelve) = ("libnvrtc.so.13", "libnvrtc.so.12");
        for (driver, expected) in [
            (None, [vec![thirteen, twelve], vec![]]),
            (Some(14), [vec![thirteen, twelve], vec![]]),
            (Some(13), [vec![thirteen, twelve], vec![]]),
            (Some(12), [vec![twelve], vec![thirteen]]),
            (Some(11), [vec![], vec![thirteen, twelve]]),
        ] {
            assert_eq!(NVRTC.by_driver(driver), expected, "{driver:?}");
        }
    }

    #[test]
    fn configured_folders_precede_packages_and_installations() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let found = NVRTC.folders(
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
