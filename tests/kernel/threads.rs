//! Many threads that register, call and watch the same op at once.

use crate::at_once::{THREADS, on_all_threads};
use dlbridge::Tensor;
use dlbridge::compute::threads;
use dlbridge::kernel::{Kernel, KernelContext, Op, Registry, Source, Target, observe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::thread;

/// How many kernels each thread registers, and how many calls it makes after each.
const KERNELS: i64 = if cfg!(miri) { 3 } else { 60 };
const CALLS: usize = if cfg!(miri) { 3 } else { 200 };

/// A kernel whose result is its priority.
fn numbered(priority: i64, by_factory: bool) -> Kernel {
    let kernel = Kernel::new("which").priority(i32::try_from(priority).unwrap());
    let gives = move |_: Source<'_, f32>, y: Target<'_, i64>| y.update(|_| priority);
    match by_factory {
        true => kernel.factory(move |_: &KernelContext<'_>| Ok(gives)),
        false => kernel.function(gives),
    }
}

fn which() -> Registry {
    let registry = Registry::new();
    let op = Op::new("which")
        .input("x", "T")
        .output("y", dlbridge::DType::I64);
    registry.define(op).unwrap();
    registry.register(numbered(0, false)).unwrap();
    registry
}

#[test]
fn calls_use_the_best_kernel_registered_at_that_time() {
    let registry = which();
    let op = registry.op("which").unwrap();
    let next = AtomicI64::new(1);
    // All up to this one are registered, and perhaps others.
    let registered = AtomicI64::new(0);
    on_all_threads(|thread| {
        let ranks: Vec<_> = (0..4)
            .map(|rank| Tensor::zeros(&vec![2; rank], dlbridge::DType::F32).unwrap())
            .collect();
        let mut last = vec![0; ranks.len()];
        for _ in 0..KERNELS {
            let number = next.fetch_add(1, Ordering::SeqCst);
            registry
                .register(numbered(number, thread % 2 == 0))
                .unwrap();
            registered.fetch_max(number, Ordering::SeqCst);
            for at in 0..CALLS {
                let rank = at % ranks.len();
                let least = registered.load(Ordering::SeqCst);
                let y = op.call().input(&ranks[rank]).make().unwrap();
                let most = next.load(Ordering::SeqCst);
                let ran = y.view::<i64>().unwrap().iter().copied().max().unwrap();
                assert!((least..most).contains(&ran), "{ran} not in {least}..{most}");
                assert!(ran >= last[rank], "a worse kernel than before");
                last[rank] = ran;
            }
        }
    });
    let all = THREADS as i64 * KERNELS;
    assert_eq!(op.kernels().len() as i64, all + 1);
    let y = op.call().number(1.0_f32).make().unwrap();
    assert_eq!(y.item::<i64>().unwrap(), all);
}

#[test]
fn concurrent_registration_of_ambiguous_kernels_keeps_one() {
    for _ in 0..if cfg!(miri) { 1 } else { 50 } {
        let registry = which();
        let count = AtomicUsize::new(0);
        on_all_threads(|_| {
            if registry.register(numbered(7, false)).is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
            let y = registry
                .op("which")
                .unwrap()
                .call()
                .number(1.0_f32)
                .make()
                .unwrap();
            assert_eq!(y.item::<i64>().unwrap(), 7);
        });
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn observers_start_and_end_during_calls() {
    let registry = which();
    let op = registry.op("which").unwrap();
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    on_all_threads(|thread| {
        let this = thread::current().id();
        for round in 0..KERNELS {
            if thread % 4 == 3 {
                registry
                    .register(numbered(thread as i64 * KERNELS + round, true))
                    .unwrap();
            }
            let observer = observe(move |record| {
                if thread::current().id() == this && record.op == "which" {
                    TOLD.fetch_add(1, Ordering::SeqCst);
                }
            });
            op.call().number(1.0_f32).make().unwrap();
            drop(observer);
            op.call().number(1.0_f32).make().unwrap();
        }
    });
    assert_eq!(TOLD.load(Ordering::SeqCst) as i64, THREADS as i64 * KERNELS);
}

#[test]
fn state_is_shared_between_threads() {
    let registry = Registry::new();
    let op = Op::new("made")
        .input("x", "T")
        .output("y", dlbridge::DType::I64);
    registry.define(op).unwrap();
    let next = AtomicI64::new(0);
    let kernel = Kernel::new("made").factory(move |_: &KernelContext<'_>| {
        let number = next.fetch_add(1, Ordering::SeqCst);
        Ok(move |_: Source<'_, f32>, y: Target<'_, i64>| y.update(|_| number))
    });
    registry.register(kernel).unwrap();
    let op = registry.op("made").unwrap();
    let seen = std::sync::Mutex::new(std::collections::HashSet::new());
    on_all_threads(|_| {
        for rank in 0..5 {
            let x = Tensor::ones(&vec![1; rank], dlbridge::DType::F32).unwrap();
            let y = op.call().input(&x).make().unwrap();
            seen.lock().unwrap().insert(y.to_vec::<i64>().unwrap()[0]);
        }
    });
    assert_eq!(
        seen.lock().unwrap().len(),
        1,
        "one of those that were made at once is kept"
    );
}

/// An op whose kernel does something for each of many parts, on several threads.
fn of_parts(part: fn(usize)) -> Registry {
    let registry = Registry::new();
    let op = Op::new("parts").input("x", "T").output("y", "T");
    registry.define(op).unwrap();
    let kernel = move |_: Source<'_, f32>, y: Target<'_, f32>| {
        threads::for_each_part(64, part);
        y.update(|_| threads::num_threads() as f32);
    };
    registry
        .register(Kernel::new("parts").function(kernel))
        .unwrap();
    registry
}

#[test]
fn call_runs_with_its_number_of_threads() {
    let registry = of_parts(|_| ());
    let op = registry.op("parts").unwrap();
    let x = Tensor::scalar(1.0_f32);
    let number = |threads| {
        let call = op.call().input(&x).threads(threads);
        call.make().unwrap().item::<f32>().unwrap()
    };
    assert_eq!((number(1), number(3), number(7)), (1.0, 3.0, 7.0));
    assert_eq!(number(0), threads::num_threads() as f32);
    assert_eq!(number(usize::MAX), threads::MAX_THREADS as f32);
    threads::with_num_threads(2, || {
        assert_eq!((number(0), number(5)), (2.0, 5.0));
        assert_eq!(threads::num_threads(), 2);
    });
}

#[test]
fn panic_on_a_helper_reaches_the_caller() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    fn part(_: usize) {
        thread::sleep(std::time::Duration::from_millis(1));
        if thread::current().name() == Some("dlbridge") {
            PANICS.fetch_add(1, Ordering::Relaxed);
            panic!("on a helper");
        }
    }
    let registry = of_parts(part);
    let op = registry.op("parts").unwrap();
    let x = Tensor::scalar(1.0_f32);
    // Helpers may be busy elsewhere.
    for _ in 0..1000 {
        let before = PANICS.load(Ordering::Relaxed);
        let call = || op.call().input(&x).threads(3).make().map(drop);
        let outcome = catch_unwind(AssertUnwindSafe(call));
        if PANICS.load(Ordering::Relaxed) == before {
            outcome.unwrap().unwrap();
            continue;
        }
        let panic = outcome.unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"on a helper"));
        return;
    }
    panic!("no helper took part in 1000 calls");
}
