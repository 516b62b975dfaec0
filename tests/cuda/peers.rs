//! Copies of several GPUs' memory, on streams of any of them: the memory's own GPU makes them.

use crate::capture::capture;
use crate::double::{
    calls, driver_folder, fail, forget_failures, in_child, live, mistakes, on_double,
};
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::{DType, Tensor};

fn stream(id: i32) -> Stream {
    Stream::new(Gpu::new(id).unwrap()).unwrap()
}

fn numbers(tensor: &Tensor) -> Vec<i32> {
    cuda::to_host(tensor).unwrap().to_vec().unwrap()
}

/// A tensor of shape 2 x 3 on a GPU, with gaps or without, that holds a number everywhere.
fn filled(number: i32, has_gaps: bool, stream: &Stream) -> Tensor {
    let columns = if has_gaps { 5 } else { 3 };
    let host = Tensor::from_vec(vec![number; 2 * columns], &[2, columns]).unwrap();
    let sent = cuda::to_device(&host, stream).unwrap();
    match has_gaps {
        true => sent.step_by(1, 2).unwrap(),
        false => sent,
    }
}

#[test]
fn copy_between_gpus_accepts_streams_of_either() {
    let environment = [("LIBCUDA_DOUBLE_DEVICES", "3")];
    let test = "peers::copy_between_gpus_accepts_streams_of_either";
    in_child(test, &driver_folder(), &environment, || {
        let streams = [0, 1, 2].map(stream);
        let mut number = 0;
        for (from_gpu, to_gpu) in [(0, 1), (1, 0), (1, 1)] {
            for on in &streams {
                for gaps in 0..4 {
                    number += 1;
                    let from = filled(number, gaps & 1 != 0, &streams[from_gpu]);
                    let mut to = filled(0, gaps & 2 != 0, &streams[to_gpu]);
                    let before = calls("cuMemcpyPeerAsync");
                    let waits = calls("cuStreamSynchronize");
                    cuda::copy_into(&mut to, &from, on).unwrap();
                    let crossings = calls("cuMemcpyPeerAsync") - before;
                    assert_eq!(crossings, u64::from(from_gpu != to_gpu));
                    assert_eq!(calls("cuStreamSynchronize"), waits);
                    // The source is released after the copy, and the target in the order of its
                    // writer.
                    drop(from);
                    assert_eq!(numbers(&to), [number; 6], "{from_gpu} to {to_gpu}, {on:?}");
                }
            }
        }
        drop(streams);
        for id in 0..3 {
            Gpu::new(id).unwrap().synchronize().unwrap();
        }
        assert_eq!(mistakes(), "");
        assert_eq!(
            (live("memory"), live("pending"), live("streams")),
            (0, 0, 0)
        );
    });
}

type Make = fn(&[usize], DType, Gpu) -> Result<Tensor, CudaError>;

#[test]
fn host_memory_is_copied_by_the_other_sides_gpu() {
    on_double(
        "peers::host_memory_is_copied_by_the_other_sides_gpu",
        || {
            let (here, there) = (stream(0), stream(1));
            let (gpu, shape) = (here.gpu(), [2, 3]);
            let pageable: Make = |shape, dtype, _| Ok(Tensor::zeros(shape, dtype)?);
            let make: [Make; 3] = [cuda::pinned, cuda::managed, pageable];
            for make in make {
                for has_gaps in [false, true] {
                    let mut device = filled(7, has_gaps, &there);
                    let mut host = make(&shape, DType::I32, gpu).unwrap();
                    cuda::copy_into(&mut host, &device, &here).unwrap();
                    assert_eq!(host.to_vec::<i32>().unwrap(), [7; 6]);
                    host.view_mut::<i32>().unwrap().fill(8);
                    cuda::copy_into(&mut device, &host, &here).unwrap();
                    drop(host);
                    assert_eq!(numbers(&device), [8; 6]);
                }
            }
            assert_eq!(calls("cuMemcpyPeerAsync"), 0);
        },
    );
}

#[test]
fn copy_of_pinned_memory_does_not_block() {
    on_double("peers::copy_of_pinned_memory_does_not_block", || {
        let (here, there) = (stream(0), stream(1));
        let device = filled(7, true, &there);
        let mut to = cuda::pinned(&[2, 3], DType::I32, here.gpu()).unwrap();
        let waits = calls("cuStreamSynchronize");
        cuda::copy_into(&mut to, &device, &here).unwrap();
        assert_eq!(calls("cuStreamSynchronize"), waits);
        drop(device);
        // The stream of the request is the one to wait for.
        here.synchronize().unwrap();
        assert_eq!(to.to_vec::<i32>().unwrap(), [7; 6]);
    });
}

#[test]
fn copy_between_gpus_is_captured() {
    on_double("peers::copy_between_gpus_is_captured", || {
        let (here, there) = (stream(0), stream(1));
        let [from, other] = [false, true].map(|has_gaps| filled(7, has_gaps, &there));
        let mut pinned = cuda::pinned(&[2, 3], DType::I32, here.gpu()).unwrap();
        let [mut to, mut kept] = [1, 2].map(|number| filled(number, false, &here));
        there.synchronize().unwrap();
        here.synchronize().unwrap();
        let mut errors = Vec::new();
        cuda::copy_into(&mut to, &from, &here).unwrap();
        cuda::copy_into(&mut kept, &other, &here).unwrap();
        cuda::copy_into(&mut pinned, &from, &here).unwrap();
        capture(&here, 2, || {
            cuda::copy_into(&mut to, &from, &here).unwrap();
            errors.push(cuda::copy_into(&mut kept, &other, &here).unwrap_err());
            errors.push(cuda::copy_into(&mut pinned, &from, &here).unwrap_err());
        });
        for error in errors {
            let expected =
                "memory of another GPU than the stream's can't be copied while a graph is captured";
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!((numbers(&to), numbers(&kept)), (vec![7; 6], vec![7; 6]));
    });
}

/// Copies of all kinds on a stream of another GPU; what it makes it drops.
fn everything() -> Result<Vec<i32>, CudaError> {
    let (here, there) = (Stream::new(Gpu::new(0)?)?, Stream::new(Gpu::new(1)?)?);
    let host = Tensor::from_vec(vec![1, 2, 3, 4], &[2, 2])?;
    let from = cuda::to_device(&host, &there)?.transpose();
    let mut to = cuda::zeros(&[2, 2], DType::I32, &there)?.transpose();
    let mut between = cuda::zeros(&[2, 2], DType::I32, &here)?.transpose();
    cuda::copy_into(&mut between, &from, &there)?;
    cuda::copy_into(&mut to, &between, &here)?;
    drop((from, between));
    let mut pinned = cuda::pinned(&[2, 2], DType::I32, here.gpu())?;
    cuda::copy_into(&mut pinned, &to, &here)?;
    drop((to, there));
    here.synchronize()?;
    Ok(pinned.to_vec()?)
}

#[test]
fn failed_calls_leak_nothing() {
    on_double("peers::failed_calls_leak_nothing", || {
        let whole = [1, 3, 2, 4];
        assert_eq!(everything().unwrap(), whole);
        let before = calls("");
        assert_eq!(everything().unwrap(), whole);
        let count = calls("") - before;
        let mut failures = 0;
        for nth in 1..=count {
            fail("", nth, 1);
            match everything() {
                Ok(values) => assert_eq!(values, whole, "call {nth}"),
                Err(_) => failures += 1,
            }
            forget_failures();
            for id in [0, 1, 0, 1] {
                Gpu::new(id).unwrap().synchronize().unwrap();
            }
            assert_eq!(mistakes(), "", "call {nth}");
            assert_eq!(live("memory"), 0, "call {nth}");
        }
        assert_eq!(everything().unwrap(), whole);
        assert!(failures > 60, "{failures} of {count} calls are needed");
    });
}
