//! Deferred releases whose owners run other code when they are dropped.

use crate::compiler::compiler_folder;
use crate::double::{driver_folder, fail, finish_work, in_child, mistakes, on_double};
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::kernel::Registry;
use dlbridge::storage::{Access, SyncOwner};
use dlbridge::{DType, Storage, Tensor, ops};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs the body in a child process with the doubles of the driver and of the compiler, which fails
/// where it doesn't end.
fn ends_on_doubles(test: &str, body: fn()) {
    let folders = std::env::join_paths([driver_folder(), compiler_folder()]).unwrap();
    let environment = [("DLBRIDGE_CACHE", ""), ("DLBRIDGE_CUBLASLT", "none")];
    in_child(test, Path::new(&folders), &environment, || {
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(60));
            std::process::abort();
        });
        body();
    });
}

static HAS_RUN: AtomicBool = AtomicBool::new(false);

/// Runs an op when it is dropped.
struct RunsAnOp([Tensor; 2]);

impl Drop for RunsAnOp {
    fn drop(&mut self) {
        ops::matmul(&self.0[0], &self.0[1]).unwrap();
        HAS_RUN.store(true, Ordering::Relaxed);
    }
}

#[test]
fn owner_that_calls_an_op_is_dropped_while_another_is_compiled() {
    let test = "deferred::owner_that_calls_an_op_is_dropped_while_another_is_compiled";
    ends_on_doubles(test, || {
        let stream = Stream::current(Gpu::new(0).unwrap());
        let sent = |tensor: &Tensor| cuda::to_device(tensor, &stream).unwrap();
        let floats = || sent(&Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]));
        let whole = || sent(&Tensor::from([[1_i32, 2], [3, 4]]));
        let (a, b, mut out) = (whole(), whole(), whole());
        let owner = RunsAnOp([floats(), floats()]);
        cuda::release_after(&stream, owner).unwrap();
        let context = stream.gpu().enter().unwrap();
        finish_work();
        drop(context);
        assert!(!HAS_RUN.load(Ordering::Relaxed));
        let matmul = Registry::global().op("matmul").unwrap();
        // There is no result to be allocated, so that loading the kernel is what drops the owner.
        let call = matmul.call().input(&a).input(&b).output(&mut out);
        call.run().unwrap();
        assert!(HAS_RUN.load(Ordering::Relaxed));
    });
}

const OUT_OF_MEMORY: i32 = 2;

/// Memory of another library, whose release panics.
struct Panics {
    _memory: Tensor,
}

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("an owner's drop");
    }
}

impl SyncOwner for Panics {
    fn settle(&self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn owner_that_panics_leaves_other_releases_pending() {
    let test = "deferred::owner_that_panics_leaves_other_releases_pending";
    on_double(test, || {
        let gpu = Gpu::new(0).unwrap();
        let (idle, busy) = (Stream::new(gpu).unwrap(), Stream::new(gpu).unwrap());
        let memory = cuda::zeros(&[4], DType::U8, &idle).unwrap();
        let (data, device) = (memory.data_ptr().cast_mut(), memory.device());
        let owner = Panics { _memory: memory };
        // SAFETY: the owner keeps the memory, which nothing else uses.
        let storage =
            unsafe { Storage::from_sync_owner(data, 4, device, Access::Exclusive, owner) };
        let foreign = Tensor::from_storage(storage, &[4], DType::U8).unwrap();
        // SAFETY: the stream lives until the test ends.
        let untracked = unsafe { Stream::from_raw(gpu, busy.handle()) };
        let foreign = cuda::import_unordered(foreign, &untracked).unwrap();
        gpu.synchronize().unwrap();
        let target = cuda::zeros(&[4], DType::U8, &busy).unwrap();
        fail("cuCtxSynchronize", 1, OUT_OF_MEMORY);
        drop(foreign); // It is tried again.
        let kept = Arc::new(());
        cuda::release_after(&busy, Arc::clone(&kept)).unwrap();
        let drained = catch_unwind(AssertUnwindSafe(|| {
            cuda::empty(&[1], DType::U8, &idle).map(drop)
        }));
        assert!(drained.is_err());
        assert_eq!(
            Arc::strong_count(&kept),
            2,
            "it wasn't found to be done with"
        );
        drop(target);
        gpu.synchronize().unwrap();
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

#[test]
fn tensors_may_be_dropped_at_the_end_of_their_thread() {
    let test = "deferred::tensors_may_be_dropped_at_the_end_of_their_thread";
    for pools in ["0", "1"] {
        let environment = [("LIBCUDA_DOUBLE_POOLS", pools)];
        in_child(test, &driver_folder(), &environment, || {
            thread_local!(static KEPT: RefCell<Vec<Tensor>> = const { RefCell::new(Vec::new()) });
            let end = || {
                let gpu = Gpu::new(0).unwrap();
                let stream = Stream::new(gpu).unwrap();
                let make = |_| cuda::pinned(&[4], DType::F32, gpu).unwrap();
                KEPT.with_borrow_mut(|kept| {
                    kept.push(cuda::zeros(&[4], DType::F32, &stream).unwrap());
                    kept.extend((0..64).map(make));
                });
                // Drops are put off on this thread, later than the list is there.
                cuda::release_after(&stream, ()).unwrap();
                gpu.synchronize().unwrap();
                KEPT.with_borrow(|kept| {
                    for tensor in &kept[1..] {
                        drop(cuda::to_device(tensor, &stream).unwrap());
                    }
                });
                cuda::release_after(&stream, ()).unwrap();
            };
            std::thread::spawn(end).join().unwrap();
            Gpu::new(0).unwrap().synchronize().unwrap();
            assert_eq!(mistakes(), "");
        });
    }
}
