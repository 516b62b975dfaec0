//! Search for cuBLASLt, and the fallback where it isn't found.

use super::kernels::on_doubles;
use super::library::{blas_folder, lines, numbers, sent, values, with_blas};
use crate::double::{is_child, journal};
use dlbridge::cuda;
use dlbridge::ops;
use std::fs;
use std::path::{Path, PathBuf};

/// A product's values, or what is wrong.
fn product() -> Result<Vec<f32>, String> {
    let (a, b) = (sent(&numbers(2, 1)), sent(&numbers(1, 2)));
    match ops::matmul(&a, &b) {
        Ok(out) => Ok(values(&out)),
        Err(error) => Err(error.to_string()),
    }
}

fn is_by_kernel() {
    let found = product().unwrap();
    assert_eq!(found.len(), 4);
    assert!(journal().contains("runs: matmul_f32_tiles"));
}

/// Whether the library is in the process's memory.
fn is_loaded() -> bool {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.contains("libcublasLt")
}

#[test]
fn without_cublaslt_the_fallback_kernel_is_used() {
    let test = "matmul::find::without_cublaslt_the_fallback_kernel_is_used";
    on_doubles(test, &[], &[], || {
        is_by_kernel();
        assert!(!is_loaded());
    });
}

#[test]
fn cublaslt_can_be_disabled() {
    let test = "matmul::find::cublaslt_can_be_disabled";
    let environment = [("DLBRIDGE_CUBLASLT", "none")];
    on_doubles(test, &[blas_folder()], &environment, || {
        is_by_kernel();
        assert!(!is_loaded());
    });
}

#[test]
fn a_named_library_that_is_missing_is_an_error() {
    let test = "matmul::find::a_named_library_that_is_missing_is_an_error";
    on_doubles(test, &[], &[("DLBRIDGE_CUBLASLT", "/nowhere")], || {
        let error = product().unwrap_err();
        let wanted = "cuBLASLt, which multiplies matrices, was not found in /nowhere";
        assert!(error.contains(wanted), "{error}");
    });
}

#[test]
fn a_named_file_that_is_another_library_is_rejected() {
    let test = "matmul::find::a_named_file_that_is_another_library_is_rejected";
    on_doubles(test, &[], &[], || {
        let libc = fs::read_to_string("/proc/self/maps").unwrap();
        let libc = libc.lines().find(|line| line.contains("libc.so")).unwrap();
        let libc = PathBuf::from(&libc[libc.find('/').unwrap()..]);
        cuda::set_cublaslt_path(&libc);
        let error = product().unwrap_err();
        let wanted = format!("{} can't be used as cuBLASLt: ", libc.display());
        assert!(error.contains(&wanted), "{error}");
        assert!(error.contains("cublasLtGetVersion"), "{error}");
        // A failure isn't kept.
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("libcublasLt.so.12");
        fs::write(&broken, "no library").unwrap();
        cuda::set_cublaslt_path(folder.path());
        let error = product().unwrap_err();
        assert!(error.contains(&broken.display().to_string()), "{error}");
    });
}

#[test]
fn a_library_that_is_too_old_is_rejected() {
    let test = "matmul::find::a_library_that_is_too_old_is_rejected";
    let environment = [("LIBCUBLASLT_DOUBLE_VERSION", "110803")];
    on_doubles(test, &[blas_folder()], &environment, || {
        let error = product().unwrap_err();
        let [found, without] = [
            "expected cuBLASLt 12.0 or newer, found 11.8 in ",
            "; with DLBRIDGE_CUBLASLT=none matrices are multiplied without it",
        ];
        assert!(error.contains(found) && error.contains(without), "{error}");
    });
}

#[test]
fn cublaslt_is_found_in_each_search_path() {
    let test = "matmul::find::cublaslt_is_found_in_each_search_path";
    let body = || {
        if let Some(folder) = std::env::var_os("TEST_PACKAGES") {
            cuda::add_search_path(folder);
        }
        if let Some(path) = std::env::var_os("TEST_SET_PATH") {
            cuda::set_cublaslt_path(path);
        }
        assert_eq!(product().unwrap().len(), 4);
        let expected = std::env::var("TEST_EXPECTED").unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.contains(&expected), "{expected}\n{maps}");
        assert_eq!(journal().matches("runs: cublasLtDoubleProduct").count(), 1);
    };
    if is_child() {
        return on_doubles(test, &[], &[], body);
    }
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    // Files of their own, as links would lead to the same one.
    let put = |file: &str| {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::copy(blas_folder().join("libcublasLt.so.13"), &file).unwrap();
        file.display().to_string()
    };
    let up = |file: &str, levels: usize| {
        let folder = Path::new(file).ancestors().nth(levels).unwrap();
        folder.display().to_string()
    };
    let named = put("named/any.so");
    let toolkit = put("cuda/lib64/libcublasLt.so.12");
    let wheel = put("site/nvidia/cu13/lib/libcublasLt.so.13");
    let old_wheel = put("older/nvidia/cublas/lib/libcublasLt.so.12");
    for (variable, value, expected) in [
        ("DLBRIDGE_CUBLASLT", named.clone(), &named),
        ("TEST_SET_PATH", up(&toolkit, 1), &toolkit),
        ("CUDA_PATH", up(&toolkit, 2), &toolkit),
        ("TEST_PACKAGES", up(&wheel, 4), &wheel),
        ("TEST_PACKAGES", up(&old_wheel, 4), &old_wheel),
    ] {
        let environment = [
            (variable, value.as_str()),
            ("TEST_EXPECTED", expected.as_str()),
        ];
        on_doubles(test, &[], &environment, body);
    }
}

#[test]
fn the_first_library_found_stays() {
    let test = "matmul::find::the_first_library_found_stays";
    with_blas(test, &[], || {
        product().unwrap();
        cuda::set_cublaslt_path("/nowhere");
        product().unwrap();
        assert_eq!(lines("multiplied: ").len(), 2);
        assert_eq!(lines("asked: ").len(), 1);
    });
}
