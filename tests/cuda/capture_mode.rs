//! Work beside the capture of a graph, which doesn't end it.

use crate::capture::capture;
use crate::double::{calls, live, on_double};
use crate::kernels::{PTX, axpy};
use crate::launch::run;
use crate::memory::foreign;
use cudarc::driver::sys;
use dlbridge::cuda::{self, CudaError, Gpu, Module, Stream};
use dlbridge::{DType, Tensor};
use std::ptr;
use std::thread;

fn gpu() -> Gpu {
    Gpu::new(0).unwrap()
}

/// Captures a copy, and whatever else is done meanwhile; the copy must come of it.
fn captured_beside(body: impl FnOnce(&Stream)) {
    let stream = Stream::new(gpu()).unwrap();
    let from = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
    let mut to = cuda::zeros(&[2], DType::I32, &stream).unwrap();
    stream.synchronize().unwrap();
    capture(&stream, 1, || {
        body(&stream);
        cuda::copy_into(&mut to, &from, &stream).unwrap();
    });
    assert_eq!(cuda::to_host(&to).unwrap().to_vec::<i32>().unwrap(), [1, 2]);
}

#[test]
fn deferred_releases_are_polled_during_a_capture() {
    on_double(
        "capture_mode::deferred_releases_are_polled_during_a_capture",
        || {
            let other = Stream::new(gpu()).unwrap();
            captured_beside(|stream| {
                cuda::release_after(&other, ()).unwrap();
                assert_eq!(calls("cuEventQuery"), 0);
                let error = cuda::empty(&[2], DType::I32, stream).unwrap_err();
                assert!(matches!(error, CudaError::Capturing { .. }), "{error}");
                assert!(calls("cuEventQuery") > 0, "that had it look");
            });
        },
    );
}

#[test]
fn pinned_memory_during_capture_is_allocated_and_freed() {
    on_double(
        "capture_mode::pinned_memory_during_capture_is_allocated_and_freed",
        || {
            captured_beside(|_| {
                for make in [cuda::pinned, cuda::managed] {
                    let memory = make(&[2], DType::F32, gpu()).unwrap();
                    let before = live("memory");
                    drop(memory);
                    assert_eq!(live("memory"), before - 1);
                }
            });
        },
    );
}

#[test]
fn other_streams_during_capture_are_awaited() {
    on_double(
        "capture_mode::other_streams_during_capture_are_awaited",
        || {
            let other = Stream::new(gpu()).unwrap();
            captured_beside(|_| {
                let mut y = cuda::zeros(&[2], DType::I32, &other).unwrap();
                assert!(!other.is_done().unwrap());
                other.synchronize().unwrap();
                cuda::copy_into(&mut y, &Tensor::from([3, 4]), &other).unwrap();
                assert_eq!(cuda::to_host(&y).unwrap().to_vec::<i32>().unwrap(), [3, 4]);
            });
        },
    );
}

#[test]
fn other_threads_during_capture_are_unaffected() {
    on_double(
        "capture_mode::other_threads_during_capture_are_unaffected",
        || {
            captured_beside(|_| {
                let work = || {
                    let other = Stream::new(gpu()).unwrap();
                    let x = cuda::to_device(&Tensor::from([1_i32, 2]), &other).unwrap();
                    let pinned = cuda::pinned(&[2], DType::I32, gpu()).unwrap();
                    let _y = cuda::to_device(&pinned, &other).unwrap();
                    drop(pinned);
                    assert_eq!(cuda::to_host(&x).unwrap().to_vec::<i32>().unwrap(), [1, 2]);
                };
                thread::spawn(work).join().unwrap();
            });
        },
    );
}

#[test]
fn modules_during_capture_are_loaded_and_unloaded() {
    on_double(
        "capture_mode::modules_during_capture_are_loaded_and_unloaded",
        || {
            captured_beside(|_| {
                let module = Module::load(gpu(), PTX).unwrap();
                assert_eq!(live("modules"), 1);
                drop(module);
                assert_eq!(live("modules"), 0);
            });
        },
    );
}

#[test]
fn first_use_of_gpu_during_capture_succeeds() {
    on_double(
        "capture_mode::first_use_of_gpu_during_capture_succeeds",
        || {
            captured_beside(|_| {
                let other = Gpu::new(1).unwrap();
                cuda::zeros(&[2], DType::I32, &Stream::new(other).unwrap()).unwrap();
                other.trim().unwrap();
            });
        },
    );
}

#[test]
fn default_stream_is_not_queried_during_capture_of_blocking_stream() {
    on_double(
        "capture_mode::default_stream_is_not_queried_during_capture_of_blocking_stream",
        || {
            let _entered = gpu().enter().unwrap();
            let mut raw = ptr::null_mut();
            // SAFETY: the context is current; it is a stream until the process ends.
            let stream = unsafe {
                let flags = sys::CUstream_flags::CU_STREAM_DEFAULT as u32;
                assert_eq!(
                    sys::cuStreamCreate(&mut raw, flags),
                    sys::CUresult::CUDA_SUCCESS
                );
                Stream::from_raw(gpu(), raw.cast()).lasting()
            };
            let default = Stream::default_of(gpu());
            let from = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
            let mut to = cuda::zeros(&[2], DType::I32, &stream).unwrap();
            stream.synchronize().unwrap();
            capture(&stream, 1, || {
                assert!(default.is_capturing().unwrap());
                let error = cuda::empty(&[2], DType::I32, &default).unwrap_err();
                assert!(matches!(error, CudaError::Capturing { .. }), "{error}");
                let error = cuda::release_after(&default, ()).unwrap_err();
                assert!(matches!(error, CudaError::Capturing { .. }), "{error}");
                cuda::copy_into(&mut to, &from, &stream).unwrap();
            });
            assert!(!default.is_capturing().unwrap());
            assert_eq!(cuda::to_host(&to).unwrap().to_vec::<i32>().unwrap(), [1, 2]);
        },
    );
}

#[test]
fn foreign_memory_is_released_after_capture_of_its_stream() {
    on_double(
        "capture_mode::foreign_memory_is_released_after_capture_of_its_stream",
        || {
            let other = Stream::new(gpu()).unwrap();
            let kernel = axpy(gpu());
            let theirs = foreign(cuda::zeros(&[2], DType::F32, &other).unwrap());
            let mut y = cuda::zeros(&[2], DType::F32, &other).unwrap();
            let before = live("memory");
            captured_beside(|home| {
                let adopted = cuda::import(theirs, home, &other).unwrap();
                run(&kernel, 1.0, &adopted, &mut y, &other).unwrap();
                let there = live("memory");
                drop(adopted);
                assert_eq!(live("memory"), there, "it can't be told to wait now");
            });
            gpu().synchronize().unwrap();
            assert_eq!(live("memory"), before - 1);
        },
    );
}

#[test]
fn graph_uses_completed_foreign_work_only() {
    on_double(
        "capture_mode::graph_uses_completed_foreign_work_only",
        || {
            let [stream, other, busy] = [(); 3].map(|()| Stream::new(gpu()).unwrap());
            let done = cuda::zeros(&[2], DType::I32, &other).unwrap();
            // What no other code can ask is waited for by a mark.
            // SAFETY: the stream outlives the tensors.
            let strange = unsafe { Stream::from_raw(gpu(), other.handle()) };
            let theirs = cuda::zeros(&[2], DType::I32, &other).unwrap();
            let theirs = cuda::import(foreign(theirs), &stream, &strange).unwrap();
            other.synchronize().unwrap();
            let mut sum = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
            let mut second = cuda::to_device(&Tensor::from([1_i32, 2]), &stream).unwrap();
            stream.synchronize().unwrap();
            let under_way = cuda::zeros(&[2], DType::I32, &busy).unwrap();
            capture(&stream, 1, || {
                let error = cuda::copy_into(&mut sum, &under_way, &stream).unwrap_err();
                assert_eq!(
                    error.to_string(),
                    "no work outside of it can be waited for while a graph is captured"
                );
                cuda::copy_into(&mut sum, &done, &stream).unwrap();
                cuda::copy_into(&mut second, &theirs, &stream).unwrap();
            });
            for copy in [sum, second] {
                assert_eq!(
                    cuda::to_host(&copy).unwrap().to_vec::<i32>().unwrap(),
                    [0, 0]
                );
            }
        },
    );
}
