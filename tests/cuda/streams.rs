//! Streams: current ones, and waiting.

use crate::double::{calls, live, on_double};
use cudarc::driver::sys;
use dlbridge::cuda::{self, CudaError, Gpu, Stream, release_after};
use dlbridge::{DType, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn gpu() -> Gpu {
    Gpu::new(0).unwrap()
}

#[test]
fn current_stream_is_the_innermost() {
    on_double("streams::current_stream_is_the_innermost", || {
        let (one, other) = (Stream::new(gpu()).unwrap(), Stream::new(gpu()).unwrap());
        assert_eq!(Stream::current(gpu()), Stream::default_of(gpu()));
        let outer = one.make_current();
        {
            let _inner = other.make_current();
            assert_eq!(Stream::current(gpu()), other);
            let far = Gpu::new(1).unwrap();
            assert_eq!(Stream::current(far), Stream::default_of(far));
            std::thread::spawn(|| assert_eq!(Stream::current(gpu()), Stream::default_of(gpu())))
                .join()
                .unwrap();
        }
        assert_eq!(Stream::current(gpu()), one);
        drop(outer);
        assert_eq!(Stream::current(gpu()), Stream::default_of(gpu()));
        drop((one, other));
        assert_eq!(live("streams"), 0);
    });
}

#[test]
fn default_stream_handles_are_equal() {
    on_double("streams::default_stream_handles_are_equal", || {
        for handle in [0, 1] {
            let handle = std::ptr::without_provenance_mut(handle);
            // SAFETY: handles of the default stream.
            let stream = unsafe { Stream::from_raw(gpu(), handle) };
            assert_eq!(stream, Stream::default_of(gpu()));
            assert!(stream.handle().is_null());
        }
    });
}

#[test]
fn wait_for_orders_streams() {
    on_double("streams::wait_for_orders_streams", || {
        let (slow, fast) = (Stream::new(gpu()).unwrap(), Stream::new(gpu()).unwrap());
        let tensor = cuda::zeros(&[3], DType::F32, &slow).unwrap();
        assert!(!slow.is_done().unwrap());
        fast.wait_for(&slow).unwrap();
        fast.synchronize().unwrap();
        assert!(slow.is_done().unwrap());
        for _ in 0..1000 {
            fast.wait_for(&slow).unwrap();
            slow.wait_for(&fast).unwrap();
        }
        assert!(live("events") < 4, "events are used again");
        drop(tensor);
        slow.synchronize().unwrap();
    });
}

/// Counts when it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn memory_is_kept_until_its_work_is_done() {
    on_double("streams::memory_is_kept_until_its_work_is_done", || {
        let stream = Stream::new(gpu()).unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let tensor = cuda::zeros(&[3], DType::F32, &stream).unwrap();
        release_after(&stream, Counted(drops.clone())).unwrap();
        let another = cuda::zeros(&[3], DType::F32, &stream).unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 0, "the work wasn't done yet");
        stream.synchronize().unwrap();
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        drop((tensor, another));
        stream.synchronize().unwrap();
    });
}

#[test]
fn repeated_drains_query_the_first_pending_release_only() {
    on_double(
        "streams::repeated_drains_query_the_first_pending_release_only",
        || {
            let streams = [(); 2].map(|()| Stream::new(gpu()).unwrap());
            let drops = Arc::new(AtomicUsize::new(0));
            for stream in &streams {
                let tensor = cuda::zeros(&[3], DType::F32, stream).unwrap();
                for _ in 0..50 {
                    release_after(stream, Counted(drops.clone())).unwrap();
                }
                drop(tensor);
            }
            let asked = calls("cuEventQuery");
            drop(cuda::zeros(&[3], DType::F32, &streams[0]).unwrap());
            assert_eq!(calls("cuEventQuery") - asked, 2);
            assert_eq!(drops.load(Ordering::Relaxed), 0);
            streams[1].synchronize().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), 50);
            streams[0].synchronize().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), 100);
            assert!(live("events") <= 100, "they are used again");
        },
    );
}

#[test]
fn deferred_releases_are_drained_without_an_allocation() {
    on_double(
        "streams::deferred_releases_are_drained_without_an_allocation",
        || {
            let stream = Stream::new(gpu()).unwrap();
            let drops = Arc::new(AtomicUsize::new(0));
            for round in 0..10 {
                for _ in 0..64 {
                    release_after(&stream, Counted(drops.clone())).unwrap();
                }
                // Nothing is allocated, and no code waits by way of this crate.
                let raw = stream.handle().cast();
                // SAFETY: a stream that is there.
                let answer = unsafe { cudarc::driver::sys::cuStreamSynchronize(raw) };
                assert_eq!(answer, cudarc::driver::sys::CUresult::CUDA_SUCCESS);
                let dropped = drops.load(Ordering::Relaxed);
                assert!(
                    dropped >= round * 64 - round.min(1),
                    "{dropped} in round {round}"
                );
            }
            stream.synchronize().unwrap();
            assert_eq!(drops.load(Ordering::Relaxed), 640);
        },
    );
}

#[test]
fn foreign_stream_is_not_destroyed() {
    on_double("streams::foreign_stream_is_not_destroyed", || {
        let drops = Arc::new(AtomicUsize::new(0));
        let made = Stream::new(gpu()).unwrap();
        // SAFETY: the keeper keeps it.
        let stream =
            unsafe { Stream::from_raw(gpu(), made.handle()).kept((made, Counted(drops.clone()))) };
        let tensor = cuda::to_device(&Tensor::from([1_u8]), &stream).unwrap();
        drop(stream);
        assert_eq!(
            drops.load(Ordering::Relaxed),
            0,
            "the memory is released on it"
        );
        drop(tensor);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_eq!(live("streams"), 0);
        gpu().synchronize().unwrap();
    });
}

#[test]
fn default_streams_of_two_gpus_differ() {
    on_double("streams::default_streams_of_two_gpus_differ", || {
        let far = Stream::default_of(Gpu::new(1).unwrap());
        let tensor = cuda::zeros(&[3], DType::F32, &Stream::default_of(gpu())).unwrap();
        let sent = cuda::to_device(&tensor, &far).unwrap();
        let numbers = cuda::to_host(&sent).unwrap();
        assert_eq!(numbers.to_vec::<f32>().unwrap(), [0.0; 3]);
        // The last one who uses it is on the other GPU.
        drop(tensor);
        drop(sent);
    });
}

/// A foreign stream, destroyed without notice.
fn strange() -> (sys::CUstream, Stream) {
    let mut raw = std::ptr::null_mut();
    let _entered = gpu().enter().unwrap();
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: the context is current, and the stream there until the test destroys it.
    unsafe {
        sys::cuStreamCreate(&mut raw, flags).result().unwrap();
        (raw, Stream::from_raw(gpu(), raw.cast()))
    }
}

#[test]
fn untracked_stream_is_not_queried() {
    on_double("streams::untracked_stream_is_not_queried", || {
        let (raw, stream) = strange();
        let tensor = cuda::zeros(&[3], DType::F32, &stream).unwrap();
        // SAFETY: no work is queued on it any more.
        unsafe { sys::cuStreamDestroy_v2(raw).result().unwrap() };
        let other = Stream::new(gpu()).unwrap();
        let copy = cuda::to_device(&tensor, &other).unwrap();
        for tensor in [&tensor, &copy] {
            let numbers = cuda::to_host(tensor).unwrap();
            assert_eq!(numbers.to_vec::<f32>().unwrap(), [0.0; 3]);
        }
    });
}

#[test]
fn per_thread_default_streams_differ() {
    on_double("streams::per_thread_default_streams_differ", || {
        // SAFETY: that one is there as long as its thread.
        let own = || unsafe { Stream::from_raw(gpu(), std::ptr::without_provenance_mut(2)) };
        let here = own();
        assert_eq!(here, own());
        let tensor = cuda::zeros(&[3], DType::F32, &here).unwrap();
        let elsewhere = std::thread::spawn(move || {
            assert_ne!(here, own());
            let refused = |answer: Result<(), CudaError>| {
                assert_eq!(answer.unwrap_err(), CudaError::OtherThread);
            };
            refused(cuda::to_device(&tensor, &here).map(drop));
            refused(cuda::zeros(&[3], DType::F32, &here).map(drop));
            refused(here.synchronize());
            refused(here.is_done().map(drop));
            refused(here.wait_for(&own()));
            refused(own().wait_for(&here));
            let _current = here.make_current();
            let mut sum = cuda::zeros(&[3], DType::F32, &own()).unwrap();
            refused(cuda::copy_into(&mut sum, &tensor, &here));
            let copy = cuda::to_device(&tensor, &own()).unwrap();
            cuda::to_host(&copy).unwrap().to_vec::<f32>().unwrap()
        });
        assert_eq!(elsewhere.join().unwrap(), [0.0; 3]);
    });
}

#[test]
fn stream_that_may_be_gone_is_another_than_one_of_its_handle() {
    on_double(
        "streams::stream_that_may_be_gone_is_another_than_one_of_its_handle",
        || {
            // As if it had been destroyed, and the driver had given its handle to the other.
            let ours = Stream::new(gpu()).unwrap();
            // SAFETY: it is there.
            let gone = unsafe { Stream::from_raw(gpu(), ours.handle()) };
            for what in ["written", "read"] {
                let mut tensor = cuda::zeros(&[3], DType::F32, &gone).unwrap();
                if what == "read" {
                    let other = Stream::new(gpu()).unwrap();
                    tensor = cuda::zeros(&[3], DType::F32, &other).unwrap();
                    drop(cuda::to_device(&tensor, &gone).unwrap());
                }
                let source = cuda::zeros(&[3], DType::F32, &ours).unwrap();
                let waits = calls("cuCtxSynchronize");
                cuda::copy_into(&mut tensor, &source, &ours).unwrap();
                assert_eq!(calls("cuCtxSynchronize") - waits, 1, "{what}");
            }
        },
    );
}

#[test]
fn streams_cease_to_be_current_in_any_order() {
    on_double("streams::streams_cease_to_be_current_in_any_order", || {
        let (first, second) = (Stream::new(gpu()).unwrap(), Stream::new(gpu()).unwrap());
        let one = first.make_current();
        let other = second.make_current();
        drop(one);
        assert_eq!(Stream::current(gpu()), second);
        drop(other);
        assert_eq!(Stream::current(gpu()), Stream::default_of(gpu()));
    });
}
