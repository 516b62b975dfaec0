//! Lookup of CUDA's headers, beside NVRTC or where else CUDA is installed.

use crate::cuda::driver::library::find::INSTALLED;
use std::path::{Path, PathBuf};

/// The header by which the folder is known.
pub(super) const KNOWN_BY: &str = "cuda_fp16.h";

/// Headers that change with the version of those in the same folder, which has at least one of
/// them.
pub(super) const STAMPS: [&str; 3] = [KNOWN_BY, "cuda/std/__cccl/version.h", "cuda/std/version"];

/// Note for a failed include when CUDA's headers weren't found.
pub(super) const MISSING: &str = "\nCUDA's headers were not found: they are looked for beside NVRTC, and in CUDA_PATH/include; \
    in Python, the package nvidia-cuda-runtime has them";

/// Returns the folders for a library; `toolkits` are where the environment says that CUDA is,
/// `packages` those with Python's packages.
pub(super) fn beside(library: &Path, toolkits: &[PathBuf], packages: &[PathBuf]) -> Vec<PathBuf> {
    let real = library.canonicalize().ok();
    let files = [Some(library), real.as_deref()];
    let libraries: Vec<&Path> = files
        .into_iter()
        .flatten()
        .filter_map(Path::parent)
        .collect();
    // The package's own folder first: packages of two versions of CUDA may be there.
    let siblings = libraries.iter().map(|folder| folder.join("../include"));
    let packaged = libraries
        .iter()
        .map(|folder| folder.join("../../cuda_runtime/include"));
    let told = toolkits.iter().flat_map(|root| {
        let target = format!("targets/{}-linux/include", std::env::consts::ARCH);
        [root.join("include"), root.join(target)]
    });
    let names = ["nvidia/cu13/include", "nvidia/cuda_runtime/include"];
    let all_packages = packages
        .iter()
        .flat_map(|root| names.map(|name| root.join(name)));
    let installed = [Path::new(INSTALLED).join("include")];
    let mut folders = siblings
        .chain(packaged)
        .chain(told)
        .chain(all_packages)
        .chain(installed);
    let Some(main) = folders.find(|folder| folder.join(KNOWN_BY).is_file()) else {
        return Vec::new();
    };
    // libcu++ is in a folder of its own.
    let others = [main.join("cccl"), main.join("../../cuda_cccl/include")];
    let library = others
        .into_iter()
        .find(|folder| folder.join("cuda/std").is_dir());
    let folders = [main].into_iter().chain(library);
    folders
        .map(|folder| folder.canonicalize().unwrap_or(folder))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(root: &Path, file: &str) -> PathBuf {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        file
    }

    #[test]
    fn headers_are_found_in_each_kind_of_installation() {
        for (library, header, cccl) in [
            (
                "cuda/lib64/libnvrtc.so.12",
                "cuda/include",
                "cuda/include/cccl",
            ),
            (
                "nvidia/cu13/lib/libnvrtc.so.13",
                "nvidia/cu13/include",
                "nvidia/cu13/include/cccl",
            ),
            (
                "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "nvidia/cuda_runtime/include",
                "nvidia/cuda_cccl/include",
            ),
        ] {
            let root = tempfile::tempdir().unwrap();
            let root = root.path().canonicalize().unwrap();
            let library = put(&root, library);
            put(&root, "nvidia/cuda_nvrtc/include/nvrtc.h");
            put(&root, &format!("{header}/{KNOWN_BY}"));
            assert_eq!(beside(&library, &[], &[]), [root.join(header)]);
            put(&root, &format!("{cccl}/cuda/std/type_traits"));
            assert_eq!(
                beside(&library, &[], &[]),
                [root.join(header), root.join(cccl)]
            );
        }
    }

    #[test]
    fn headers_are_found_in_other_packages_and_toolkits() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let library = put(&root, "usr/lib/libnvrtc.so.13");
        put(&root, "site/nvidia/cu13/include/cuda_fp16.h");
        let packages = [root.join("other"), root.join("site")];
        let found = beside(&library, &[], &packages);
        assert_eq!(found, [root.join("site/nvidia/cu13/include")]);
        put(&root, "cuda/include/cuda_fp16.h");
        let found = beside(&library, &[root.join("cuda")], &packages);
        assert_eq!(found, [root.join("cuda/include")]);
    }

    #[cfg(unix)]
    #[test]
    fn headers_are_found_through_symlinks() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let library = put(&root, "targets/lib/libnvrtc.so.12.4");
        put(&root, "targets/include/cuda_fp16.h");
        let link = root.join("elsewhere/lib/libnvrtc.so.12");
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(library, &link).unwrap();
        assert_eq!(beside(&link, &[], &[]), [root.join("targets/include")]);
    }
}
