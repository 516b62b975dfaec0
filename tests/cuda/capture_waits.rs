//! Waits between streams of which some are captured: none of them invalidates a capture.

use crate::double::{fail, on_double};
use cudarc::driver::sys;
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::{DType, Tensor};
use std::ptr;

fn stream() -> Stream {
    Stream::new(Gpu::new(0).unwrap()).unwrap()
}

fn is_refused<T>(outcome: Result<T, CudaError>) -> bool {
    matches!(outcome, Err(CudaError::Capturing { .. }))
}

/// A capture into a graph that is never launched, which must end well.
struct Capture<'a>(&'a Stream);

impl<'a> Capture<'a> {
    fn begin(stream: &'a Stream) -> Self {
        let _context = stream.gpu().enter().unwrap();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
        // SAFETY: the stream is there, and its context current.
        let begun = unsafe { sys::cuStreamBeginCapture_v2(stream.handle().cast(), mode) };
        assert_eq!(begun, sys::CUresult::CUDA_SUCCESS);
        Self(stream)
    }

    fn end(self) {
        let _context = self.0.gpu().enter().unwrap();
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is there, and its context current; the graph is used once.
        let answers = unsafe {
            let ended = sys::cuStreamEndCapture(self.0.handle().cast(), &mut graph);
            [ended, sys::cuGraphDestroy(graph)]
        };
        assert_eq!(answers, [sys::CUresult::CUDA_SUCCESS; 2]);
    }
}

#[test]
fn captures_into_two_graphs_do_not_wait_for_each_other() {
    let test = "capture_waits::captures_into_two_graphs_do_not_wait_for_each_other";
    on_double(test, || {
        let (one, other) = (stream(), stream());
        let (first, second) = (Capture::begin(&one), Capture::begin(&other));
        assert!(is_refused(one.wait_for(&other)));
        assert!(is_refused(other.wait_for(&one)));
        fail("cuStreamGetCaptureInfo_v2", 1, 9999);
        assert_eq!(one.wait_for(&other).unwrap_err().code(), Some(9999));
        second.end();
        first.end();
    });
}

#[test]
fn default_stream_does_not_wait_during_a_capture() {
    let test = "capture_waits::default_stream_does_not_wait_during_a_capture";
    on_double(test, || {
        let (gpu, captured) = (Gpu::new(0).unwrap(), stream());
        let default = Stream::default_of(gpu);
        let capture = Capture::begin(&captured);
        assert!(is_refused(default.wait_for(&captured)));
        captured.wait_for(&default).unwrap(); // It has nothing to do.
        capture.end();
        // A stream that the default one waits for, and the other way.
        let mut raw = ptr::null_mut();
        let _context = gpu.enter().unwrap();
        // SAFETY: the context is current, and the stream lives until the process ends.
        let blocking = unsafe {
            assert_eq!(
                sys::cuStreamCreate(&mut raw, 0),
                sys::CUresult::CUDA_SUCCESS
            );
            Stream::from_raw(gpu, raw.cast()).lasting()
        };
        let idle = stream();
        let capture = Capture::begin(&blocking);
        assert!(is_refused(blocking.wait_for(&default)));
        assert!(is_refused(default.wait_for(&blocking)));
        assert!(is_refused(idle.wait_for(&default)));
        capture.end();
    });
}

#[test]
fn use_of_memory_does_not_join_a_graph() {
    on_double("capture_waits::use_of_memory_does_not_join_a_graph", || {
        let (captured, outside) = (stream(), stream());
        let from = cuda::to_device(&Tensor::from([1_i32, 2]), &captured).unwrap();
        let mut in_graph = cuda::zeros(&[2], DType::I32, &captured).unwrap();
        let mut to = cuda::zeros(&[2], DType::I32, &outside).unwrap();
        captured.synchronize().unwrap();
        outside.synchronize().unwrap();
        let capture = Capture::begin(&captured);
        cuda::copy_into(&mut in_graph, &from, &captured).unwrap();
        assert!(is_refused(cuda::copy_into(&mut to, &in_graph, &outside)));
        assert!(!outside.is_capturing().unwrap());
        capture.end();
        // Where the program has it join, it does.
        let capture = Capture::begin(&captured);
        cuda::copy_into(&mut in_graph, &from, &captured).unwrap();
        outside.wait_for(&captured).unwrap();
        cuda::copy_into(&mut to, &in_graph, &outside).unwrap();
        captured.wait_for(&outside).unwrap();
        capture.end();
    });
}
