//! Every call of the driver's fails once: the error is clear, and nothing is lost.

use crate::double::{calls, fail, forget_failures, live, mistakes, on_double};
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::{DType, Tensor};
use std::sync::Arc;

/// Some of everything; what it makes it drops.
fn everything() -> Result<Vec<f32>, CudaError> {
    let gpu = Gpu::new(0)?;
    let (one, other) = (Stream::new(gpu)?, Stream::new(gpu)?);
    let host = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let sent = cuda::to_device(&host, &one)?;
    let mut copy = cuda::zeros(&[2, 2], DType::F32, &other)?;
    cuda::copy_into(&mut copy, &sent.transpose(), &other)?;
    let mut pinned = cuda::pinned(&[2, 2], DType::F32, gpu)?;
    cuda::copy_into(&mut pinned, &copy, &one)?;
    drop((sent, copy));
    one.synchronize()?;
    Ok(pinned.to_vec::<f32>()?)
}

#[test]
fn failed_calls_leak_nothing() {
    on_double("failures::failed_calls_leak_nothing", || {
        let whole = [1.0, 3.0, 2.0, 4.0];
        assert_eq!(everything().unwrap(), whole);
        let before = calls("");
        assert_eq!(everything().unwrap(), whole);
        let count = calls("") - before;
        assert!(count > 30, "there is something to fail");
        let mut failures = 0;
        for nth in 1..=count {
            // Invalid value, out of memory, launch failure without the context being lost.
            for code in [1, 2, 400] {
                fail("", nth, code);
                match everything() {
                    Ok(values) => assert_eq!(values, whole, "call {nth}, code {code}"),
                    Err(error) => {
                        failures += 1;
                        let text = error.to_string();
                        let is_clear =
                            text.contains("CUDA_ERROR_") || text.contains("not enough memory");
                        assert!(is_clear, "call {nth}, code {code}: {text}");
                    }
                }
                forget_failures();
                // Afterwards all is well again.
                assert_eq!(
                    everything().unwrap(),
                    whole,
                    "after call {nth}, code {code}"
                );
                Gpu::new(0).unwrap().synchronize().unwrap();
                Gpu::new(0).unwrap().synchronize().unwrap();
                assert_eq!(mistakes(), "", "call {nth}, code {code}");
                assert_eq!(live("memory"), 0, "call {nth}, code {code}");
            }
        }
        assert!(failures > 60, "{failures} failures were seen");
    });
}

#[test]
fn release_after_fatal_error_does_not_wait() {
    on_double("failures::release_after_fatal_error_does_not_wait", || {
        let stream = Stream::new(Gpu::new(0).unwrap()).unwrap();
        let is_kept_after = |code| {
            let kept = Arc::new(());
            cuda::release_after(&stream, kept.clone()).unwrap();
            fail("cuEventQuery", 1, code);
            // It drains the pending releases.
            cuda::pinned(&[1], DType::U8, stream.gpu()).unwrap();
            forget_failures();
            let is_kept = Arc::strong_count(&kept) == 2;
            stream.synchronize().unwrap();
            is_kept
        };
        assert!(is_kept_after(2), "memory may be there next time");
        // Addresses, instructions, and what the GPU is connected by.
        for code in [
            4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 810, 911,
        ] {
            assert!(!is_kept_after(code), "{code}");
        }
    });
}
