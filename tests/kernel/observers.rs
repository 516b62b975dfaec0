//! Observers: who is told of a call, what, and until when.

use crate::support::{copies, copy, op};
use dlbridge::kernel::{Kernel, Observer, OpHandle, Source, Target, observe};
use dlbridge::{Tensor, View, ViewMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// An op that no other test calls: observers are told of all threads' calls.
fn watched(name: &'static str) -> OpHandle {
    let op = dlbridge::kernel::Op::new(name)
        .input("x", "T")
        .output("y", "T");
    self::op(op, [Kernel::new(name).function(copies)])
}

/// Counts the calls of one op.
fn count(op: &'static str) -> (Arc<AtomicUsize>, Observer) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let observer = observe(move |record| {
        if record.op == op {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    (count, observer)
}

#[test]
fn record_has_the_called_kernels() {
    let slow = |x: Source<'_, f32>, y: Target<'_, f32>| {
        thread::sleep(Duration::from_millis(2));
        y.map(&x, |x| x);
        match x.len() {
            3 => Ok(()),
            _ => Err("only three are good"),
        }
    };
    let op = dlbridge::kernel::Op::new("recorded")
        .input("x", "T")
        .output("y", "T");
    let op = self::op(op, [Kernel::new("recorded").name("slow").function(slow)]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let records = seen.clone();
    let observer = observe(move |record| {
        if record.op == "recorded" {
            let shapes: Vec<_> = record.operands.iter().map(|x| x.shape().to_vec()).collect();
            assert!(record.time >= Duration::from_millis(2));
            let (kernel, bytes) = (record.kernel.to_owned(), record.nbytes());
            records
                .lock()
                .unwrap()
                .push((kernel, shapes, bytes, record.failed));
        }
    });
    op.call()
        .input(&Tensor::from([1.0_f32, 2.0, 3.0]))
        .make()
        .unwrap();
    assert!(op.call().number(1.0_f32).make().is_err());
    // A failed call isn't observed.
    assert!(op.call().make().is_err());
    drop(observer);
    op.call()
        .input(&Tensor::from([1.0_f32, 2.0, 3.0]))
        .make()
        .unwrap();
    let kernel = "recorded slow (cpu, T=float32)".to_owned();
    let expected = [
        (kernel.clone(), vec![vec![3], vec![3]], 24, false),
        (kernel, vec![vec![], vec![]], 8, true),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn observers_are_called_until_they_are_dropped() {
    let op = watched("told_to_all");
    let call = || op.call().number(1.0_f32).make().unwrap();
    let (first, one) = count("told_to_all");
    call();
    let (second, other) = count("told_to_all");
    call();
    drop(one);
    call();
    drop(other);
    call();
    assert_eq!(
        (first.load(Ordering::SeqCst), second.load(Ordering::SeqCst)),
        (2, 2)
    );
}

#[test]
fn observer_ends_itself() {
    let op = watched("ends_itself");
    let slot = Arc::new(Mutex::new(None::<Observer>));
    let (inside, count) = (slot.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = count.clone();
    let observer = observe(move |record| {
        if record.op == "ends_itself" {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(inside.lock().unwrap().take());
        }
    });
    *slot.lock().unwrap() = Some(observer);
    for _ in 0..3 {
        op.call().number(1.0_f32).make().unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // What it held went with it.
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn observer_starts_others() {
    let op = watched("holds_another");
    let (count, inner) = count("holds_another");
    let begun = Mutex::new(Vec::new());
    let outer = observe(move |record| {
        let _held = &inner;
        if record.op == "holds_another" {
            begun.lock().unwrap().push(observe(|_| {}));
        }
    });
    op.call().number(1.0_f32).make().unwrap();
    drop(outer);
    op.call().number(1.0_f32).make().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn calls_by_an_observer_are_not_observed() {
    let op = watched("called_by_observer");
    let (inner, calls) = (op.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = calls.clone();
    let observer = observe(move |record| {
        if record.op == "called_by_observer" {
            counted.fetch_add(1, Ordering::SeqCst);
            inner.call().number(2.0_f32).make().unwrap();
        }
    });
    for _ in 0..3 {
        op.call().number(1.0_f32).make().unwrap();
    }
    drop(observer);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[test]
fn nested_calls_are_observed_first() {
    let inner = watched("within");
    let outer = move |x: View<'_, f32>, y: ViewMut<'_, f32>| {
        inner.call().input(x).output(y).run().map(drop)
    };
    let op = op(copy(), [Kernel::new("copy").function(outer)]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (records, this) = (seen.clone(), thread::current().id());
    let observer = observe(move |record| {
        if thread::current().id() == this {
            records.lock().unwrap().push(record.op.to_owned());
        }
    });
    op.call().number(1.0_f32).make().unwrap();
    drop(observer);
    assert_eq!(*seen.lock().unwrap(), ["within", "copy"]);
}

#[test]
fn panicking_kernel_is_observed() {
    fn kernel(_: View<'_, f32>, _: ViewMut<'_, f32>) {
        panic!("it panics");
    }
    let op = dlbridge::kernel::Op::new("panicking")
        .input("x", "T")
        .output("y", "T");
    let op = self::op(op, [Kernel::new("panicking").function(kernel)]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let observer = observe(move |record| {
        if record.op == "panicking" {
            seen.lock().unwrap().push(record.failed);
        }
    });
    let call = || op.call().number(1.0_f32).make();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    let payload = panicked.map(drop).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"it panics"));
    drop(observer);
    assert_eq!(*told.lock().unwrap(), [true]);
}

#[test]
fn panicking_observer_observes_the_next_call() {
    let op = watched("panics");
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let observer = observe(move |record| {
        if record.op == "panics" && counted.fetch_add(1, Ordering::SeqCst) == 0 {
            panic!("the first call is too much");
        }
    });
    let call = || op.call().number(1.0_f32).make();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    assert!(panicked.is_err());
    call().unwrap();
    drop(observer);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}
