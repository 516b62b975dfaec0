//! Every function of the library's fails once: the error names it, nothing is lost, and the next
//! product is well. Only where the library doesn't start there is another way.

use super::library::{
    blas_folder, blas_mistakes, descriptors, expected, fail, lines, need_workspace, numbers, sent,
    values, with_blas,
};
use crate::double;
use crate::double::{forget_failures, live, mistakes};
use dlbridge::cuda::{self, Gpu, cublaslt_failure};
use dlbridge::kernel::CallError;
use dlbridge::{DType, Tensor, ops};
use std::ffi::c_int;

/// The causes of an error, in words.
fn words(error: &CallError) -> String {
    let mut all = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        all = format!("{all}: {error}");
        cause = error.source();
    }
    all
}

#[test]
fn failed_calls_are_named() {
    with_blas("matmul::failures::failed_calls_are_named", &[], || {
        let asking = [
            "cublasLtMatmulDescCreate",
            "cublasLtMatmulDescSetAttribute",
            "cublasLtMatrixLayoutCreate",
            "cublasLtMatmulPreferenceCreate",
            "cublasLtMatmulPreferenceSetAttribute",
            "cublasLtMatmulAlgoGetHeuristic",
            "cublasLtMatmul",
        ];
        let codes = [
            (1, "CUBLAS_STATUS_NOT_INITIALIZED"),
            (14, "CUBLAS_STATUS_INTERNAL_ERROR"),
            (99, "code 99"),
        ];
        let mut rows = 2;
        for function in asking {
            for (code, name) in codes {
                // A problem that isn't cached yet.
                rows += 1;
                let b = sent(&numbers(5, 4));
                let a = sent(&numbers(5, rows)).transpose();
                fail(function, code);
                let error = words(&ops::matmul(&a, &b).unwrap_err());
                let expected_text = format!("{function} failed with {name}");
                assert!(error.contains(&expected_text), "{error}");
                let kept = descriptors();
                let out = ops::matmul(&a, &b).unwrap();
                assert_eq!(values::<f32>(&out), expected::<f32>(&a, &b));
                let after = descriptors();
                assert!(
                    kept % 4 == 0 && after % 4 == 0,
                    "{function}: {kept}, {after}"
                );
            }
        }
    });
}

/// What cuBLASLt answers where the driver is too old for it.
const NOT_INITIALIZED: c_int = 1;
const DIDNT_START: &str = "cublasLtCreate failed with CUBLAS_STATUS_NOT_INITIALIZED";

#[test]
fn library_that_does_not_start_is_replaced_by_the_fallback() {
    let test = "matmul::failures::library_that_does_not_start_is_replaced_by_the_fallback";
    with_blas(test, &[], || {
        let gpus = [0, 1].map(|id| Gpu::new(id).unwrap());
        let (a, b) = (sent(&numbers(3, 5)), sent(&numbers(5, 4)));
        assert_eq!(cublaslt_failure(gpus[0]), None);
        fail("cublasLtCreate", NOT_INITIALIZED);
        for _ in 0..2 {
            let out = ops::matmul(&a, &b).unwrap();
            assert_eq!(values::<f32>(&out), expected::<f32>(&a, &b));
        }
        assert_eq!(
            double::journal().matches("runs: matmul_f32_tiles").count(),
            2
        );
        let failure = cublaslt_failure(gpus[0]).unwrap();
        assert_eq!(failure.to_string(), DIDNT_START);
        assert_eq!(cublaslt_failure(gpus[1]), None);
        // Products of another type look again.
        let [a, b] = [a, b].map(|x| ops::cast(&cuda::to_host(&x).unwrap(), DType::F64).unwrap());
        let out = ops::matmul(&sent(&a), &sent(&b)).unwrap();
        assert_eq!(values::<f64>(&out), expected::<f64>(&a, &b));
        assert_eq!(lines("multiplied: ").len(), 1);
        assert_eq!(cublaslt_failure(gpus[0]), None);
    });
}

#[test]
fn named_library_that_does_not_start_is_an_error() {
    let test = "matmul::failures::named_library_that_does_not_start_is_an_error";
    let folder = blas_folder().display().to_string();
    with_blas(test, &[("DLBRIDGE_CUBLASLT", &folder)], || {
        let (a, b) = (sent(&numbers(3, 5)), sent(&numbers(5, 4)));
        fail("cublasLtCreate", NOT_INITIALIZED);
        let error = words(&ops::matmul(&a, &b).unwrap_err());
        assert!(error.contains(DIDNT_START), "{error}");
        let out = ops::matmul(&a, &b).unwrap();
        assert_eq!(values::<f32>(&out), expected::<f32>(&a, &b));
        assert_eq!(lines("multiplied: ").len(), 1);
    });
}

#[test]
fn failed_driver_calls_leak_nothing() {
    let test = "matmul::failures::failed_driver_calls_leak_nothing";
    with_blas(test, &[], || {
        need_workspace(4096);
        let (a, b) = (sent(&numbers(3, 10)), sent(&numbers(5, 4)));
        let spread = a.step_by(1, 2).unwrap();
        let wanted: Vec<f32> = expected(&spread, &b);
        let product = || -> Result<Tensor, CallError> { ops::matmul(&spread, &b) };
        product().unwrap();
        let before = double::calls("");
        product().unwrap();
        let count = double::calls("") - before;
        let memory = live("memory");
        let mut failures = 0;
        for nth in 1..=count {
            for code in [1, 2] {
                double::fail("", nth, code);
                match product() {
                    Ok(out) => {
                        forget_failures();
                        assert_eq!(values::<f32>(&out), wanted, "call {nth}, code {code}");
                    }
                    Err(error) => {
                        failures += 1;
                        let error = words(&error);
                        let is_clear = ["CUDA_ERROR_", "CUBLAS_STATUS_", "not enough memory"]
                            .iter()
                            .any(|text| error.contains(text));
                        assert!(is_clear, "call {nth}, code {code}: {error}");
                    }
                }
                forget_failures();
                assert_eq!(values::<f32>(&product().unwrap()), wanted);
                assert_eq!(
                    (blas_mistakes(), mistakes()),
                    (String::new(), String::new())
                );
                assert_eq!(live("memory"), memory, "call {nth}, code {code}");
            }
        }
        assert!(failures > 10, "{failures} of {count}");
    });
}
