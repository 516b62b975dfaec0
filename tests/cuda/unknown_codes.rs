//! Codes and statuses that no header knew when this was built, as a newer driver may return them.

use crate::double::{
    calls, driver_folder, fail, fail_work, forget_failures, in_child, is_child, live, mistakes,
    on_double, write,
};
use crate::kernels::{PTX, axpy};
use crate::launch::run;
use dlbridge::cuda::{self, CudaError, Gpu, Launch, Module, Stream};
use dlbridge::{DType, Tensor};

/// A code that CUDA has no name for.
const UNKNOWN: i32 = 9999;

/// Called between two captured streams (see `capture_waits`), and for a GPU that doesn't open.
const SELDOM: [&str; 2] = ["cuStreamGetCaptureInfo_v2", "cuMemPoolDestroy"];

/// The functions of the driver that are called, as they are declared.
fn functions() -> Vec<&'static str> {
    let declared = include_str!("../../src/cuda/driver/functions.rs").lines();
    let mut names: Vec<_> = declared
        .filter_map(|line| line.trim().split_once('('))
        .map(|(name, _)| name)
        .filter(|name| {
            name.starts_with("cu") && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
        .filter(|name| !SELDOM.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 40, "{names:?}");
    names
}

/// Something of each function.
fn everything() -> Result<Vec<f32>, CudaError> {
    let (gpu, other_gpu) = (Gpu::new(0)?, Gpu::new(1)?);
    assert!(gpu.name()?.contains("double"));
    assert!(gpu.memory()?.0 > 0);
    let (one, other) = (Stream::new(gpu)?, Stream::new(other_gpu)?);
    let sent = cuda::to_device(&Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]), &one)?;
    cuda::device_of(sent.data_ptr())?;
    let there = cuda::to_device(&sent, &other)?;
    let mut copy = cuda::zeros(&[2, 2], DType::F32, &one)?;
    cuda::copy_into(&mut copy, &there.transpose(), &one)?;
    let mut row = cuda::zeros(&[2], DType::F32, &one)?;
    cuda::copy_into(&mut row, &copy.select(1, 0)?, &one)?;
    let column = cuda::to_host(&copy.slice(1, 1..2)?)?;
    let mut pinned = cuda::pinned(&[2, 2], DType::F32, gpu)?;
    cuda::copy_into(&mut pinned, &copy, &one)?;
    drop(cuda::managed(&[2], DType::F32, gpu)?);
    let sharing = Module::load(gpu, PTX)?.function("sharing")?;
    sharing.set_max_dynamic_shared(50_000)?;
    // SAFETY: a kernel without arguments, which does nothing.
    unsafe { sharing.launch(&one, Launch::over(1, 1), &[]) }?;
    drop(sharing);
    // More events at once than are kept.
    for _ in 0..300 {
        cuda::release_after(&Stream::new(gpu)?, ())?;
    }
    one.is_done()?;
    one.synchronize()?;
    let values = [pinned.to_vec::<f32>()?, column.to_vec::<f32>()?].concat();
    drop((sent, there, copy, row, pinned));
    gpu.synchronize()?;
    gpu.trim()?;
    Ok(values)
}

const WHOLE: [f32; 6] = [1.0, 3.0, 2.0, 4.0, 3.0, 4.0];

/// Runs everything with one function answering an unknown code the first time.
fn with_unknown(function: &str) {
    if function.starts_with("cuGetError") {
        fail("cuStreamCreate", 1, 2);
    }
    fail(function, 1, UNKNOWN);
    let outcome = everything();
    assert!(calls(function) > 0, "{function} isn't called");
    forget_failures();
    match &outcome {
        Ok(values) => assert_eq!(*values, WHOLE, "{function}"),
        Err(error) => {
            let text = error.to_string();
            let is_clear = match function {
                // What failed is another function, of whose code the driver says only one half.
                "cuGetErrorName" => {
                    text.contains("cuStreamCreate failed with code 2: out of memory")
                }
                "cuGetErrorString" => text.contains("CUDA_ERROR_OUT_OF_MEMORY"),
                _ => text.contains(function) && text.contains("code 9999"),
            };
            assert!(is_clear, "{function}: {text}");
        }
    }
    let starts = ["cuDriverGetVersion", "cuInit", "cuDeviceGetCount"];
    if starts.contains(&function) {
        assert!(outcome.is_err(), "{function}");
        return;
    }
    assert_eq!(everything().unwrap(), WHOLE, "after {function}");
    for id in 0..2 {
        Gpu::new(id).unwrap().synchronize().unwrap();
        Gpu::new(id).unwrap().synchronize().unwrap();
    }
    assert_eq!(mistakes(), "", "{function}");
    assert_eq!(live("memory"), 0, "{function}");
}

#[test]
fn unknown_codes_of_every_function_are_errors() {
    let test = "unknown_codes::unknown_codes_of_every_function_are_errors";
    let of_child = std::env::var("DLBRIDGE_TEST_FUNCTION");
    if is_child() {
        return with_unknown(&of_child.unwrap());
    }
    for function in functions() {
        // Without pools, memory is allocated by another function.
        let pools = if function == "cuMemAlloc_v2" {
            "0"
        } else {
            "1"
        };
        let environment = [
            ("DLBRIDGE_TEST_FUNCTION", function),
            ("LIBCUDA_DOUBLE_POOLS", pools),
        ];
        in_child(test, &driver_folder(), &environment, || ());
    }
}

#[test]
fn unknown_codes_are_printed_as_numbers() {
    on_double(
        "unknown_codes::unknown_codes_are_printed_as_numbers",
        || {
            let stream = Stream::new(Gpu::new(0).unwrap()).unwrap();
            let sent = cuda::to_device(&Tensor::from([1.0_f32]), &stream).unwrap();
            for status in [3, 9999, -1] {
                write("cuStreamIsCapturing", status);
                assert_eq!(
                    stream.is_capturing(),
                    Ok(true),
                    "{status} isn't known to be no capture"
                );
                assert_eq!(stream.is_capturing(), Ok(false));
                write("cuPointerGetAttributes", status);
                let error = cuda::device_of(sent.data_ptr()).unwrap_err();
                assert!(matches!(error, CudaError::UnknownAddress { .. }), "{error}");
            }
            // A mode is handed back as it came.
            write("cuThreadExchangeStreamCaptureMode", 9999);
            stream.synchronize().unwrap();
            assert_eq!(
                cuda::to_host(&sent).unwrap().to_vec::<f32>().unwrap(),
                [1.0]
            );
        },
    );
}

#[test]
fn late_failure_with_any_code_is_reported() {
    let test = "unknown_codes::late_failure_with_any_code_is_reported";
    let of_child = std::env::var("DLBRIDGE_TEST_CODE");
    if is_child() {
        return fails_late(of_child.unwrap().parse().unwrap());
    }
    for code in ["700", "719", "9999", "-7"] {
        in_child(
            test,
            &driver_folder(),
            &[("DLBRIDGE_TEST_CODE", code)],
            || (),
        );
    }
}

/// A synchronisation reports a kernel's failure, and everything can still be dropped.
fn fails_late(code: i32) {
    let gpu = Gpu::new(0).unwrap();
    let (stream, other) = (Stream::new(gpu).unwrap(), Stream::new(gpu).unwrap());
    let kernel = axpy(gpu);
    let x = cuda::to_device(&Tensor::from([1.0_f32, 2.0]), &stream).unwrap();
    let mut y = cuda::zeros(&[2], DType::F32, &stream).unwrap();
    stream.synchronize().unwrap();
    fail_work(1, code);
    run(&kernel, 1.0, &x, &mut y, &stream).unwrap();
    let mut pinned = cuda::pinned(&[2], DType::F32, gpu).unwrap();
    cuda::copy_into(&mut pinned, &y, &other).unwrap();
    let errors = [
        stream.synchronize().unwrap_err().to_string(),
        other.synchronize().unwrap_err().to_string(),
        gpu.synchronize().unwrap_err().to_string(),
        cuda::to_host(&y).unwrap_err().to_string(),
        pinned.view::<f32>().unwrap_err().to_string(),
    ];
    for text in errors {
        let name = match code {
            700 => "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
            719 => "CUDA_ERROR_LAUNCH_FAILED".to_owned(),
            code => format!("code {code}"),
        };
        assert!(text.contains(&name), "{text}");
    }
    drop((x, y, pinned, kernel, stream, other));
    let _ = gpu.synchronize();
    assert_eq!(mistakes(), "");
}
