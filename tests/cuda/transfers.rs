//! Transfers of several pieces that fail on the way: memory is only given back once no work on it
//! is under way.

use crate::double::{
    be_late_with_pageable_memory, calls, fail, forget_failures, live, mistakes, on_double,
};
use crate::memory::foreign;
use dlbridge::cuda::{self, CudaError, Gpu, Stream};
use dlbridge::{DType, Storage, Tensor};
use std::sync::Arc;

/// A code that is an error of the program's, one that may pass, and one that CUDA has no name for.
const CODES: [i32; 3] = [1, 2, 9999];

const COPIES: [&str; 3] = ["cuMemcpyAsync", "cuMemcpy2DAsync_v2", "cuMemcpyPeerAsync"];

fn stream(id: i32) -> Stream {
    Stream::new(Gpu::new(id).unwrap()).unwrap()
}

/// 0, 1, 2, ... of a shape.
fn counted(shape: &[usize]) -> Tensor {
    let len = shape.iter().product::<usize>();
    Tensor::from_vec((0..len as i32).collect(), shape).unwrap()
}

/// Parts of a cube that take several rectangles.
fn parts(cube: &Tensor) -> [Tensor; 2] {
    let backwards = cube.step_by(0, -1).unwrap();
    let every_second = cube.permute(&[2, 0, 1]).unwrap();
    [
        backwards.slice(2, 1..4).unwrap(),
        every_second.step_by(0, 2).unwrap().slice(2, 0..2).unwrap(),
    ]
}

fn copies() -> u64 {
    COPIES.into_iter().map(calls).sum()
}

/// Has each copy of some work fail once, and looks at what is left under way.
fn each_copy_fails(work: impl Fn() -> Result<(), CudaError>) {
    let before = copies();
    work().unwrap();
    assert!(copies() - before > 2, "there are several pieces");
    let mut failures = 0;
    for function in COPIES {
        let before = calls(function);
        work().unwrap();
        for nth in 1..=calls(function) - before {
            for code in CODES {
                fail(function, nth, code);
                let error = work().unwrap_err();
                forget_failures();
                assert!(error.to_string().contains(function), "{error}");
                assert_eq!(live("pending on host"), 0, "{function} {nth}, code {code}");
                work().unwrap();
                assert_eq!(mistakes(), "", "{function} {nth}, code {code}");
                failures += 1;
            }
        }
    }
    assert!(failures > 6, "{failures} failures");
}

#[test]
fn failed_to_host_leaves_no_copy_in_flight() {
    let test = "transfers::failed_to_host_leaves_no_copy_in_flight";
    on_double(test, || {
        be_late_with_pageable_memory();
        let sent = cuda::to_device(&counted(&[4, 3, 5]), &stream(0)).unwrap();
        for part in parts(&sent) {
            each_copy_fails(|| cuda::to_host(&part).map(drop));
        }
    });
}

#[test]
fn failed_to_device_leaves_no_copy_in_flight() {
    let test = "transfers::failed_to_device_leaves_no_copy_in_flight";
    on_double(test, || {
        be_late_with_pageable_memory();
        let stream = stream(0);
        let target = cuda::zeros(&[4, 3, 5], DType::I32, &stream).unwrap();
        let shape = parts(&target)[0].shape().to_vec();
        // The elements are copied together on the host first, and that copy is gone when the call
        // returns.
        let wide = counted(&[shape[0], shape[1], 2 * shape[2]]);
        each_copy_fails(|| {
            let source = wide.step_by(2, 2).unwrap();
            let mut target = cuda::zeros(&[4, 3, 5], DType::I32, &stream)?;
            let whole = target.clone();
            target = parts(&target)[0].clone();
            drop(whole);
            cuda::copy_into(&mut target, &source, &stream)
        });
    });
}

#[test]
fn failed_copy_between_gpus_releases_memory() {
    let test = "transfers::failed_copy_between_gpus_releases_memory";
    on_double(test, || {
        be_late_with_pageable_memory();
        let sent = cuda::to_device(&counted(&[4, 3, 5]), &stream(0)).unwrap();
        let (there, other) = (stream(1), stream(0));
        for part in parts(&sent) {
            each_copy_fails(|| cuda::to_device(&part, &there).map(drop));
            each_copy_fails(|| {
                let mut pinned = cuda::pinned(part.shape(), DType::I32, there.gpu())?;
                cuda::copy_into(&mut pinned, &part, &other)
            });
        }
    });
}

#[test]
fn failed_upload_of_foreign_pinned_memory_is_awaited() {
    let test = "transfers::failed_upload_of_foreign_pinned_memory_is_awaited";
    on_double(test, || {
        let stream = stream(0);
        let gpu = stream.gpu();
        // What is dropped while a copy reads it is a mistake.
        each_copy_fails(|| {
            let theirs = foreign(cuda::pinned(&[4, 3, 5], DType::I32, gpu)?);
            let part = theirs.step_by(0, -1)?;
            let mut target = cuda::zeros(part.shape(), DType::I32, &stream)?;
            let copied = cuda::copy_into(&mut target, &part, &stream);
            drop((theirs, part));
            gpu.synchronize()?;
            copied
        });
    });
}

/// Memory of the host that tells when it is gone.
struct Watched {
    elements: Vec<i32>,
    _alive: Arc<()>,
}

impl AsMut<[i32]> for Watched {
    fn as_mut(&mut self) -> &mut [i32] {
        &mut self.elements
    }
}

#[test]
fn failed_synchronisation_keeps_the_memory() {
    let test = "transfers::failed_synchronisation_keeps_the_memory";
    on_double(test, || {
        be_late_with_pageable_memory();
        let stream = stream(0);
        let sent = cuda::to_device(&counted(&[4, 3, 5]), &stream).unwrap();
        let waits = ["cuStreamSynchronize", "cuCtxSynchronize"];
        for (failing, is_kept) in [(&waits[..1], false), (&waits[..], true)] {
            for (function, nth) in [("cuMemcpyAsync", 2), ("cuStreamSynchronize", 1)] {
                let alive = Arc::new(());
                let elements = vec![0; 60];
                let _alive = alive.clone();
                let storage = Storage::from_owner_mut(Watched { elements, _alive });
                let mut to = Tensor::from_storage(storage, &[4, 3, 5], DType::I32).unwrap();
                let part = sent.step_by(0, -1).unwrap();
                for failing in failing {
                    for nth in 1..4 {
                        fail(failing, nth, 2);
                    }
                }
                fail(function, nth, 2);
                cuda::copy_into(&mut to, &part, &stream).unwrap_err();
                forget_failures();
                drop(to);
                assert_eq!(Arc::strong_count(&alive) == 2, is_kept, "{function}");
                assert_eq!(live("pending on host") > 0, is_kept, "{function}");
                stream.synchronize().unwrap();
                assert_eq!(
                    Arc::strong_count(&alive),
                    1,
                    "it is released once the work is done"
                );
            }
        }
    });
}
