//! Graphs: work during a capture.

use crate::double::on_double;
use cudarc::driver::sys;
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::{DType, Tensor};
use std::ptr;

/// Captures what the body asks of the stream, runs it as often as told, and forgets it.
pub(crate) fn capture(stream: &Stream, times: usize, body: impl FnOnce()) {
    let _entered = stream.gpu().enter().unwrap();
    let raw: sys::CUstream = stream.handle().cast();
    let check = |answer| assert_eq!(answer, sys::CUresult::CUDA_SUCCESS);
    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: handles that the driver gave, each used before its end.
    unsafe {
        check(sys::cuStreamBeginCapture_v2(raw, mode));
        body();
        check(sys::cuStreamEndCapture(raw, &mut graph));
        check(sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0));
        for _ in 0..times {
            check(sys::cuGraphLaunch(executable, raw));
        }
        check(sys::cuStreamSynchronize(raw));
        check(sys::cuGraphExecDestroy(executable));
        check(sys::cuGraphDestroy(graph));
    }
}

#[test]
fn copies_are_replayed() {
    on_double("capture::copies_are_replayed", || {
        let stream = Stream::new(Gpu::new(0).unwrap()).unwrap();
        let from = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
        let mut to = cuda::zeros(&[2], DType::I32, &stream).unwrap();
        stream.synchronize().unwrap();
        capture(&stream, 2, || {
            cuda::copy_into(&mut to, &from, &stream).unwrap()
        });
        assert_eq!(cuda::to_host(&to).unwrap().to_vec::<i32>().unwrap(), [1, 2]);
    });
}

#[test]
fn uncapturable_work_fails_and_the_capture_goes_on() {
    on_double(
        "capture::uncapturable_work_fails_and_the_capture_goes_on",
        || {
            let stream = Stream::new(Gpu::new(0).unwrap()).unwrap();
            let from = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
            let mut to = cuda::zeros(&[2], DType::I32, &stream).unwrap();
            stream.synchronize().unwrap();
            let mut errors = Vec::new();
            capture(&stream, 1, || {
                assert!(stream.is_capturing().unwrap());
                errors.push(cuda::empty(&[2], DType::I32, &stream).unwrap_err());
                errors.push(cuda::to_host(&from).unwrap_err());
                errors.push(cuda::to_device(&Tensor::from([3]), &stream).unwrap_err());
                errors.push(cuda::release_after(&stream, ()).unwrap_err());
                cuda::copy_into(&mut to, &from, &stream).unwrap();
            });
            assert!(!stream.is_capturing().unwrap());
            for error in &errors {
                assert!(matches!(error, CudaError::Capturing { .. }), "{error}");
                assert!(
                    error.to_string().ends_with("while a graph is captured"),
                    "{error}"
                );
            }
            assert_eq!(cuda::to_host(&to).unwrap().to_vec::<i32>().unwrap(), [1, 2]);
        },
    );
}

#[test]
fn memory_dropped_during_capture_is_released_later() {
    on_double(
        "capture::memory_dropped_during_capture_is_released_later",
        || {
            let stream = Stream::new(Gpu::new(0).unwrap()).unwrap();
            let spare = cuda::zeros(&[2], DType::I32, &stream).unwrap();
            let from = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
            let mut to = cuda::zeros(&[2], DType::I32, &stream).unwrap();
            stream.synchronize().unwrap();
            capture(&stream, 3, || {
                drop(spare);
                cuda::copy_into(&mut to, &from, &stream).unwrap();
            });
            assert_eq!(crate::double::calls("cuMemFreeAsync"), 0);
            // The next allocation, or the next wait, releases it.
            stream.synchronize().unwrap();
            assert_eq!(crate::double::calls("cuMemFreeAsync"), 1);
            stream.synchronize().unwrap();
        },
    );
}
