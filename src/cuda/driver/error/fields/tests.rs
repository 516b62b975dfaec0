//! Tests that every error's fields have its text.

use super::*;
use crate::device::Device;
use std::path::PathBuf;

fn errors() -> Vec<CudaError> {
    let (path, name) = (PathBuf::from("/lib.so"), "f".to_owned());
    let (problem, device) = ("no".to_owned(), Device::cuda(0));
    let launches = [
        LaunchError::Grid {
            axis: 'x',
            found: 2,
            most: 1,
        },
        LaunchError::Block {
            axis: 'x',
            found: 2,
            most: 1,
        },
        LaunchError::Threads { found: 2, most: 1 },
        LaunchError::SharedOfGpu { found: 2, most: 1 },
        LaunchError::Count {
            found: 2,
            wanted: 1,
        },
        LaunchError::Shared { found: 2, most: 1 },
        LaunchError::Size {
            index: 0,
            found: 2,
            wanted: 1,
        },
        LaunchError::Stream {
            stream: 1,
            kernel: 0,
        },
        LaunchError::Unreachable {
            index: 0,
            device: Device::CPU,
            gpu: 0,
        },
        LaunchError::ReadOnly { index: 0 },
    ];
    let launches = launches.map(|problem| CudaError::Launch {
        kernel: "f".to_owned(),
        problem,
    });
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
    launches.into_iter().chain(others).collect()
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
fn fields_of_refused_launch_are_its_numbers() {
    let problem = LaunchError::Threads {
        found: 2048,
        most: 1024,
    };
    let kernel = "f".to_owned();
    let fields = CudaError::Launch { kernel, problem }.incompatibility();
    assert_eq!(fields.kind, Kind::Value);
    assert_eq!(fields.found.as_deref(), Some("2048"));
    assert_eq!(fields.wanted.as_deref(), Some("at most 1024"));
}
