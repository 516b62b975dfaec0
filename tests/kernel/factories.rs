//! Factories: what they make is made once for the same attributes, and kept.

use crate::support::op;
use dlbridge::kernel::{
    AttributeKind, Kernel, KernelContext, Op, OpHandle, Reason, Registry, Source, Target,
};
use dlbridge::{DType, Tensor};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// `plus(x: T, *, n: int = 0) -> y: T`.
fn plus() -> Op {
    Op::new("plus").input("x", "T").output("y", "T").attribute(
        "n",
        AttributeKind::Int,
        Some(0.into()),
    )
}

/// What a kernel prepares; counts how many there are, and how many there have been.
struct State {
    n: i64,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    made: AtomicUsize,
    alive: AtomicUsize,
}

impl State {
    fn new(n: i64, counts: &Arc<Counts>) -> Self {
        counts.made.fetch_add(1, Ordering::Relaxed);
        counts.alive.fetch_add(1, Ordering::Relaxed);
        let counts = counts.clone();
        Self { n, counts }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.counts.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counts {
    fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

fn counted(counts: &Arc<Counts>) -> Kernel {
    let counts = counts.clone();
    Kernel::new("plus").factory(move |context: &KernelContext<'_>| {
        let state = State::new(context.attribute("n")?, &counts);
        Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x + state.n))
    })
}

fn call(op: &OpHandle, x: i64, n: i64) -> i64 {
    let call = op.call().number(x).attribute("n", n);
    call.make().unwrap().item().unwrap()
}

#[test]
fn state_is_made_once_for_equal_attributes() {
    let counts = Arc::default();
    let registry = Registry::new();
    registry.define(plus()).unwrap();
    registry.register(counted(&counts)).unwrap();
    let op = registry.op("plus").unwrap();
    assert_eq!(counts.made(), 0);
    for _ in 0..3 {
        assert_eq!((call(&op, 1, 2), call(&op, 1, 3)), (3, 4));
    }
    assert_eq!(counts.made(), 2);
    // Other shapes, ranks and layouts have the same attributes.
    let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    for x in [
        &x,
        &x.transpose(),
        &x.step_by(1, 2).unwrap(),
        &x.unsqueeze(0).unwrap(),
    ] {
        op.call().input(x).attribute("n", 2).make().unwrap();
    }
    assert_eq!(counts.made(), 2);
    // It is kept when other kernels come.
    let other = Kernel::new("plus")
        .label("other")
        .function(|_: &[i64], _: &mut [i64]| {});
    registry.register(other).unwrap();
    assert_eq!((call(&op, 1, 2), counts.made()), (3, 2));
    drop(op);
    drop(registry);
    assert_eq!(counts.alive(), 0);
}

#[test]
fn failed_factory_is_called_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = asked.clone();
    let kernel = Kernel::new("plus").factory(move |context: &KernelContext<'_>| {
        match (
            context.attribute::<i64>("n")?,
            asked.fetch_add(1, Ordering::Relaxed),
        ) {
            (..0, _) => Err("below zero".into()),
            (_, 0..3) => Err("not yet".into()),
            (n, _) => Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x + n)),
        }
    });
    let op = op(plus(), [kernel]);
    let refused = |n: i64| {
        let called = op.call().number(1_i64).attribute("n", n).make();
        let (reason, text) = crate::support::refused(called);
        let Reason::Factory { kernel, failure } = reason else {
            panic!("{reason:?}");
        };
        assert_eq!(kernel, "plus (cpu, T=int64)");
        assert_eq!(text, format!("plus: {kernel} can't be made: {failure}"));
        failure.to_string()
    };
    assert_eq!(
        (refused(-1), refused(-1), refused(1)),
        ("below zero".into(), "below zero".into(), "not yet".into())
    );
    assert_eq!(call(&op, 1, 1), 2);
    assert_eq!(counts.load(Ordering::Relaxed), 4);
}

/// More than are found without a lock, and more than are kept beside them.
const MANY: i64 = if cfg!(miri) { 20 } else { 3000 };

#[test]
fn states_of_many_attributes_are_bounded() {
    let counts = Arc::default();
    let registry = Registry::new();
    registry.define(plus()).unwrap();
    registry.register(counted(&counts)).unwrap();
    let op = registry.op("plus").unwrap();
    for round in 0..3 {
        for n in 0..MANY {
            assert_eq!(call(&op, round, n), round + n);
        }
    }
    assert!(
        counts.alive() <= 2200,
        "{} states are alive",
        counts.alive()
    );
    // The first are still found without being made.
    let made = counts.made();
    for n in 0..MANY.min(1024) {
        assert_eq!(call(&op, 1, n), 1 + n);
    }
    assert_eq!(counts.made(), made);
    // So are the last, when they are requested again and again.
    for _ in 0..10 {
        for n in MANY - 10..MANY {
            assert_eq!(call(&op, 1, n), 1 + n);
        }
    }
    assert!(counts.made() <= made + 10);
    // A kernel that comes later is chosen, though calls were remembered in all ways.
    let minus = Kernel::new("plus")
        .priority(1)
        .factory(|context: &KernelContext<'_>| {
            let n = context.attribute::<i64>("n")?;
            Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x - n))
        });
    registry.register(minus).unwrap();
    for n in 0..MANY {
        assert_eq!(call(&op, 1, n), 1 - n);
    }
    drop((op, registry));
    assert_eq!(counts.alive(), 0);
}

#[test]
fn factory_registers_kernels_and_calls_ops() {
    let registry = Arc::new(Registry::new());
    registry.define(plus()).unwrap();
    let (inside, next) = (Arc::downgrade(&registry), AtomicI64::new(0));
    let kernel = Kernel::new("plus").factory(move |context: &KernelContext<'_>| {
        let registry = inside.upgrade().ok_or("the registry is gone")?;
        let n = context.attribute::<i64>("n")?;
        let label = format!("made {}", next.fetch_add(1, Ordering::Relaxed));
        let copies = |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x);
        registry.register(Kernel::new("plus").label(label.clone()).function(copies))?;
        let plus = registry.op("plus")?;
        // The one it just registered, and the one that it is itself, of another number.
        let copied = plus.call().number(n).label(&label).make()?.item::<i64>()?;
        let sum = match n {
            0 => 0,
            n => plus
                .call()
                .number(1_i64)
                .attribute("n", n - 1)
                .make()?
                .item()?,
        };
        assert_eq!((copied, sum), (n, n));
        Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x + sum))
    });
    registry.register(kernel).unwrap();
    let op = registry.op("plus").unwrap();
    assert_eq!(call(&op, 10, 5), 15);
    assert_eq!(op.kernels().len(), 7);
    assert_eq!(call(&op, 10, 5), 15);
    assert_eq!(
        op.kernels().len(),
        7,
        "states are kept though kernels came meanwhile"
    );
}

#[test]
fn dropped_state_calls_the_op() {
    /// Calls the op it belongs to when it is dropped.
    struct Farewell(Arc<Mutex<Option<OpHandle>>>, Arc<AtomicUsize>);

    impl Drop for Farewell {
        fn drop(&mut self) {
            let op = self.0.lock().unwrap().clone();
            if let Some(op) = op {
                let bye = op.call().number(1_i64).label("bye").make().unwrap();
                assert_eq!(bye.item::<i64>().unwrap(), 1);
                self.1.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    let (handle, count) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
    let (inside, counted) = (handle.clone(), Arc::clone(&count));
    let registry = Registry::new();
    registry.define(plus()).unwrap();
    let kernel = Kernel::new("plus").factory(move |_: &KernelContext<'_>| {
        let farewell = Farewell(inside.clone(), counted.clone());
        Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| {
            let _kept = &farewell;
            y.map(&x, |x| x);
        })
    });
    registry.register(kernel).unwrap();
    let copies = |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x);
    registry
        .register(Kernel::new("plus").label("bye").function(copies))
        .unwrap();
    let op = registry.op("plus").unwrap();
    *handle.lock().unwrap() = Some(op.clone());
    for n in 0..MANY {
        call(&op, 1, n);
    }
    let third = Kernel::new("plus").label("third").function(copies);
    registry.register(third).unwrap();
    *handle.lock().unwrap() = None;
    assert!(cfg!(miri) || count.load(Ordering::Relaxed) > 1000);
}

#[test]
fn dropped_state_registers_a_kernel() {
    /// Registers another kernel of its op when the first one is dropped.
    struct Farewell(Arc<Mutex<Option<Registry>>>);

    impl Drop for Farewell {
        fn drop(&mut self) {
            let registry = self.0.lock().unwrap().take();
            if let Some(registry) = registry {
                let copies = |x: Source<'_, i64>, y: Target<'_, i64>| y.map(&x, |x| x);
                let bye = Kernel::new("plus").label("bye").function(copies);
                registry.register(bye).unwrap();
            }
        }
    }

    let registry = Registry::new();
    let known = Arc::new(Mutex::new(None));
    let inside = Arc::clone(&known);
    registry.define(plus()).unwrap();
    let kernel = Kernel::new("plus").factory(move |_: &KernelContext<'_>| {
        let farewell = Farewell(Arc::clone(&inside));
        Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| {
            let _kept = &farewell;
            y.map(&x, |x| x);
        })
    });
    registry.register(kernel).unwrap();
    let op = registry.op("plus").unwrap();
    *known.lock().unwrap() = Some(registry);
    for n in 0..MANY {
        call(&op, 1, n);
    }
    let is_registered = known.lock().unwrap().take().is_none();
    assert!(cfg!(miri) || is_registered);
    let bye = op
        .call()
        .number(1_i64)
        .attribute("n", 0_i64)
        .label("bye")
        .make();
    assert_eq!(bye.is_ok(), is_registered);
}

#[test]
fn factory_receives_op_and_device() {
    let kernel = Kernel::new("plus").factory(|context: &KernelContext<'_>| {
        assert_eq!(context.op().name(), "plus");
        let device = context.device();
        Ok(move |x: Source<'_, i64>, y: Target<'_, i64>| {
            assert_eq!(device, dlbridge::Device::CPU);
            y.map(&x, |x| x);
        })
    });
    let op = op(plus(), [kernel]);
    assert_eq!(call(&op, 4, 0), 4);
    assert_eq!(op.call().number(4_i64).make().unwrap().dtype(), DType::I64);
}
