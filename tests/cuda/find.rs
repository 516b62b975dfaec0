//! Search for the compiler, and the error where it isn't found.

use crate::compiler::{NOTHING_ELSE, compiler_folder};
use crate::double::{driver_folder, in_child, is_child};
use dlbridge::cuda::{self, CudaError, Image, Source};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn compile() -> Result<Image, CudaError> {
    Source::new("int x;").compile_for_architecture((9, 0))
}

/// What a child process is told by the test.
fn told(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from)
}

/// Puts the compiler's double somewhere.
fn put(root: &Path, file: &str) -> PathBuf {
    let file = root.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(compiler_folder().join("libnvrtc.so.13"), &file).unwrap();
    file
}

#[test]
fn library_is_found_in_each_search_path() {
    let test = "find::library_is_found_in_each_search_path";
    let body = || {
        if let Some(path) = told("TEST_SET_PATH") {
            cuda::set_nvrtc_path(path);
        }
        if let Some(folder) = told("TEST_PACKAGES") {
            cuda::add_search_path("/nowhere");
            cuda::add_search_path(folder);
        }
        // One that is too old says where it is.
        let found = (11, 8);
        let path = told("TEST_EXPECTED").unwrap();
        let text = format!(
            "expected NVRTC 12.0 or newer, found 11.8 in {}",
            path.display()
        );
        let error = compile().unwrap_err();
        assert_eq!(error, CudaError::OldCompiler { path, found });
        assert_eq!(error.to_string(), text);
    };
    if is_child() {
        return body();
    }
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| put(root.path(), name);
    let named = file("named/any.so");
    let (thirteen, twelve) = (file("both/libnvrtc.so.13"), file("both/libnvrtc.so.12"));
    let old = file("old/libnvrtc.so.12");
    let installed = file("cuda/lib64/libnvrtc.so.12");
    let wheel = file("site/nvidia/cu13/lib/libnvrtc.so.13");
    let old_wheel = file("older/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    let folder = |file: &Path, up: usize| file.ancestors().nth(up).unwrap().display().to_string();
    let cases = [
        (vec![("DLBRIDGE_NVRTC", folder(&named, 0))], named.clone()),
        (
            vec![("DLBRIDGE_NVRTC", folder(&thirteen, 1))],
            thirteen.clone(),
        ),
        (vec![("TEST_SET_PATH", folder(&named, 0))], named.clone()),
        (vec![("TEST_SET_PATH", folder(&old, 1))], old.clone()),
        (
            vec![
                ("TEST_SET_PATH", folder(&old, 1)),
                ("DLBRIDGE_NVRTC", folder(&named, 0)),
            ],
            named,
        ),
        (
            vec![("LD_LIBRARY_PATH", folder(&twelve, 1))],
            thirteen.clone(),
        ),
        (
            vec![("CUDA_PATH", folder(&installed, 2))],
            installed.clone(),
        ),
        (
            vec![("CUDA_HOME", folder(&installed, 2))],
            installed.clone(),
        ),
        (vec![("TEST_PACKAGES", folder(&wheel, 4))], wheel.clone()),
        (vec![("TEST_PACKAGES", folder(&old_wheel, 4))], old_wheel),
        (
            vec![
                ("TEST_PACKAGES", folder(&wheel, 4)),
                ("CUDA_PATH", folder(&installed, 2)),
            ],
            installed.clone(),
        ),
        (
            vec![
                ("LD_LIBRARY_PATH", folder(&old, 1)),
                ("CUDA_PATH", folder(&installed, 2)),
            ],
            old,
        ),
    ];
    for (environment, expected) in cases {
        let expected = expected.display().to_string();
        let own = [
            ("LIBNVRTC_DOUBLE_VERSION", "11.8"),
            ("TEST_EXPECTED", &expected),
        ];
        let environment = environment
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let all: Vec<_> = NOTHING_ELSE
            .into_iter()
            .chain(own)
            .chain(environment)
            .collect();
        in_child(test, root.path(), &all, body);
    }
}

#[test]
fn libraries_newer_than_the_driver_come_last() {
    let test = "find::libraries_newer_than_the_driver_come_last";
    let body = || {
        // One that is too old says where it is.
        let told = told("TEST_EXPECTED").unwrap();
        match compile().unwrap_err() {
            CudaError::OldCompiler { path, .. } => assert_eq!(path, told),
            other => panic!("{other}"),
        }
    };
    if is_child() {
        return body();
    }
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| put(root.path(), name);
    let (thirteen, twelve) = (file("both/libnvrtc.so.13"), file("both/libnvrtc.so.12"));
    let both = thirteen.parent().unwrap().to_owned();
    let newer = file("newer/libnvrtc.so.13");
    let newer = newer.parent().unwrap();
    let toolkit = file("cuda/lib64/libnvrtc.so.12");
    let cuda = root.path().join("cuda");
    let cases: [(&str, &Path, &str, &Path, &Path); 7] = [
        ("13000", &both, "", Path::new(""), &thirteen),
        ("12080", &both, "", Path::new(""), &twelve),
        // Wherever the others are.
        (
            "13010",
            newer,
            "CUDA_PATH",
            &cuda,
            &newer.join("libnvrtc.so.13"),
        ),
        ("12080", newer, "CUDA_PATH", &cuda, &toolkit),
        // Where there is no other it may do.
        (
            "12080",
            newer,
            "",
            Path::new(""),
            &newer.join("libnvrtc.so.13"),
        ),
        // The user chose a named file; a folder's files are candidates.
        ("12080", newer, "DLBRIDGE_NVRTC", &thirteen, &thirteen),
        ("12080", newer, "DLBRIDGE_NVRTC", &both, &twelve),
    ];
    for (version, loader, variable, value, expected) in cases {
        let [value, expected] = [value, expected].map(|path| path.display().to_string());
        let environment = [
            ("LIBCUDA_DOUBLE_VERSION", version),
            ("LIBNVRTC_DOUBLE_VERSION", "11.8"),
            ("TEST_EXPECTED", &expected),
            (variable, &value),
        ];
        let own = environment.iter().filter(|(name, _)| !name.is_empty());
        let all: Vec<_> = NOTHING_ELSE.iter().chain(own).copied().collect();
        let folders = std::env::join_paths([&driver_folder(), loader]).unwrap();
        in_child(test, Path::new(&folders), &all, body);
    }
}

#[test]
fn loaded_library_is_used() {
    let test = "find::loaded_library_is_used";
    let body = || {
        let path = told("TEST_EXPECTED").unwrap();
        // SAFETY: the double runs nothing when it is loaded.
        let loaded = unsafe { libloading::Library::new(&path) }.unwrap();
        let image = compile().unwrap();
        assert!(image.bytes().starts_with(b"\x7fELF"));
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let files = maps.lines().filter_map(|line| line.split_once('/'));
        let files = files.filter(|(_, file)| file.contains("libnvrtc.so"));
        assert!(files.clone().count() > 0);
        for (_, file) in files {
            assert_eq!(Path::new("/").join(file), path);
        }
        drop(loaded);
    };
    if is_child() {
        return body();
    }
    // Files of their own, as links would lead to the same one.
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let copy = |name: &str| {
        fs::create_dir(root.join(name)).unwrap();
        let file = root.join(name).join("libnvrtc.so.13");
        fs::copy(compiler_folder().join("libnvrtc.so.13"), &file).unwrap();
        file.display().to_string()
    };
    let (expected, _) = (copy("loaded"), copy("loader"));
    let own = [("TEST_EXPECTED", expected.as_str()), ("DLBRIDGE_CACHE", "")];
    let all: Vec<_> = NOTHING_ELSE.into_iter().chain(own).collect();
    in_child(test, &root.join("loader"), &all, body);
}

#[test]
fn missing_compiler_is_an_error() {
    let nothing = tempfile::tempdir().unwrap();
    let test = "find::missing_compiler_is_an_error";
    let cache = nothing.path().display().to_string();
    let own = [("DLBRIDGE_CACHE", cache.as_str())];
    let all: Vec<_> = NOTHING_ELSE.into_iter().chain(own).collect();
    in_child(test, nothing.path(), &all, || {
        match compile() {
            Err(error) => {
                assert_eq!(error, CudaError::NoCompiler { told: None });
                let text = error.to_string();
                assert!(
                    text.starts_with(
                        "NVRTC, which compiles CUDA C++, was not found in this process"
                    )
                );
                assert!(
                    text.ends_with("DLBRIDGE_NVRTC can say where it is"),
                    "{text}"
                );
            }
            // This machine has one installed.
            Ok(image) => assert!(!image.bytes().is_empty()),
        }
        // It may be said later.
        let folder = cache_folder();
        cuda::set_nvrtc_path(&folder);
        let told = Some(folder.clone());
        let error = compile().unwrap_err();
        assert_eq!(error, CudaError::NoCompiler { told });
        let text = format!(
            "NVRTC, which compiles CUDA C++, was not found in {}",
            folder.display()
        );
        assert_eq!(error.to_string(), text);
        // What is there may be something else.
        let file = folder.join("libnvrtc.so.13");
        fs::write(&file, "no library").unwrap();
        let error = compile().unwrap_err();
        let CudaError::BadCompiler { path, problem } = &error else {
            panic!("{error}");
        };
        assert_eq!((path, problem.is_empty()), (&file, false));
        let libc = fs::read_to_string("/proc/self/maps").unwrap();
        let libc = libc
            .lines()
            .find_map(|line| Some(line[line.find('/')?..].to_owned()));
        cuda::set_nvrtc_path(libc.unwrap());
        let error = compile().unwrap_err();
        assert!(matches!(error, CudaError::BadCompiler { .. }), "{error}");
    });
}

fn cache_folder() -> PathBuf {
    told("DLBRIDGE_CACHE").unwrap()
}
