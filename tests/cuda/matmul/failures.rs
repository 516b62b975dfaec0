//! Every function of the library's fails once: the error names it, nothing is lost, and the next product is well.

use super::library::{
    blas_mistakes, descriptors, expected, fail, need_workspace, numbers, sent, values, with_blas,
};
use crate::double;
use crate::double::{forget_failures, live, mistakes};
use dlbridge::kernel::CallError;
use dlbridge::{Tensor, ops};

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
fn each_is_named() {
    with_blas("matmul::failures::each_is_named", &[], || {
        let asking = [
            "cublasLtCreate",
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
                // The handle is made once.
                if function == "cublasLtCreate" && code != 1 {
                    continue;
                }
                // Something that wasn't asked for yet.
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

#[test]
fn nothing_is_lost_when_the_driver_fails() {
    let test = "matmul::failures::nothing_is_lost_when_the_driver_fails";
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
