//! Tests that every error's fields have its text.

use super::*;
use crate::device::Device;
use std::path::PathBuf;

fn launches() -> [CudaError; 2] {
    let without = Incompatibility::new(Kind::Value, "2", "at most 1");
    let with = without.clone().with_remedy("pass fewer");
    [without, with].map(|problem| CudaError::Launch {
        kernel: "f".to_owned(),
        problem: Box::new(problem),
    })
}

fn errors() -> Vec<CudaError> {
    let (path, name) = (PathBuf::from("/lib.so"), "f".to_owned());
    let (problem, device) = ("no".to_owned(), Device::cuda(0));
    let others = [
        CudaError::NoDriver,
        CudaError::OldDriver { found: 11_040 },
        CudaError::BadDriver {
            problem: problem.clone(),
        },
        CudaError::NoGpu,
        CudaError::NoSuchGpu { id: 2, count: 1 },
        CudaError::NotCuda {
            device: Device::CPU,
        },
        CudaError::OutOfMemory { device, bytes: 8 },
        CudaError::Capturing { what: "no copies" },
        CudaError::WrongStream {
            found: 1,
            wanted: device,
        },
        CudaError::OtherThread,
        CudaError::UnknownAddress { address: 16 },
        CudaError::OutOfAllocation {
            range: 0..8,
            allocation: None,
        },
        CudaError::Copy {
            problem: problem.clone(),
        },
        CudaError::NoCompiler { told: None },
        CudaError::NoCompiler {
            told: Some(path.clone()),
        },
        CudaError::BadCompiler {
            path: path.clone(),
            problem: problem.clone(),
        },
        CudaError::OldCompiler {
            path: path.clone(),
            found: (11, 8),
        },
        CudaError::OldGpu {
            found: 35,
            oldest: 75,
        },
        CudaError::Compile {
            name: name.clone(),
            log: problem.clone(),
        },
        CudaError::NoBlas { told: path.clone() },
        CudaError::BadBlas {
            path: path.clone(),
            problem: problem.clone(),
        },
        CudaError::OldBlas {
            path,
            found: 110_401,
        },
        CudaError::Nul { what: "source" },
        CudaError::Compiler {
            function: "nvrtcCompileProgram",
            code: 6,
            name: name.clone(),
        },
        CudaError::Blas {
            function: "cublasLtMatmul",
            code: 14,
            name: name.clone(),
        },
        CudaError::Driver {
            function: "cuMemAlloc",
            code: 1,
            name: name.clone(),
            description: problem.clone(),
        },
        CudaError::Image { problem },
        CudaError::NoFunction { name },
        CudaError::Tensor(crate::error::Error::ReadOnly),
    ];
    others.into_iter().chain(launches()).collect()
}

#[test]
fn fields_of_every_error_have_its_text() {
    for error in errors() {
        let fields = error.incompatibility();
        assert_eq!(fields.to_string(), error.to_string(), "{error:?}");
        // A remedy stands after a semicolon, and only this text has one before something else.
        let has_remedy = !matches!(error, CudaError::NoSuchGpu { .. });
        let is_split = error.to_string().contains("; ") && has_remedy;
        assert_eq!(is_split, fields.remedy.is_some(), "{error:?}");
    }
}

#[test]
fn fields_of_refused_launch_are_its_own_and_name_the_kernel() {
    let [without, with] = launches().map(|error| error.incompatibility());
    assert_eq!(without.kind, Kind::Value);
    assert_eq!(without.found.as_deref(), Some("2"));
    assert_eq!(without.wanted.as_deref(), Some("at most 1"));
    assert_eq!(without.remedy, None);
    assert_eq!(with.reason(), "kernel f: expected at most 1, got 2");
    assert_eq!(with.remedy.as_deref(), Some("pass fewer"));
}
