//! Each call is a span of the `tracing` crate, with the op and the kernel.
//!
//! A program of its own: where other threads call kernels, too, while a subscriber comes, `tracing` may
//! take them for its only users.
#![cfg(all(feature = "kernels", feature = "tracing"))]

use dlbridge::Tensor;
use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes down what spans are opened, entered and left.
#[derive(Clone, Default)]
struct Writer {
    lines: Arc<Mutex<Vec<String>>>,
    next: Arc<AtomicU64>,
}

impl Writer {
    fn write(&self, line: impl Into<String>) {
        self.lines.lock().unwrap().push(line.into());
    }
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Writer {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let metadata = span.metadata();
        self.write(format!(
            "{} {} {:?}",
            metadata.level(),
            metadata.name(),
            fields.0
        ));
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.write("entered");
    }

    fn exit(&self, _: &Id) {
        self.write("left");
    }
}

#[test]
fn a_call_is_a_span() {
    let writer = Writer::default();
    let kernel_writes = writer.clone();
    let copies = move |x: Source<'_, f32>, y: Target<'_, f32>| {
        kernel_writes.write("in the kernel");
        y.map(&x, |x| x);
    };
    let registry = Registry::new();
    let op = Op::new("copy").input("x", "T").output("y", "T");
    registry.define(op).unwrap();
    let kernel = Kernel::new("copy").name("mine").function(copies);
    registry.register(kernel).unwrap();
    let op = registry.op("copy").unwrap();
    tracing::subscriber::with_default(writer.clone(), || {
        op.call().input(&Tensor::from([1.0_f32])).make().unwrap();
        assert!(op.call().make().is_err());
    });
    let fields = r#"{"kernel": "copy mine (cpu, T=float32)", "op": "copy"}"#;
    let expected = [
        &format!("DEBUG dlbridge {fields}"),
        "entered",
        "in the kernel",
        "left",
    ];
    assert_eq!(*writer.lines.lock().unwrap(), expected);
}
