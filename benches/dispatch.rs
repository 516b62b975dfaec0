//! Calling kernels: finding the one for a call, among ten and among ten thousand, and whole calls.

use divan::{Bencher, black_box};
use dlbridge::kernel::{
    AttributeKind, Kernel, Op, OpHandle, Operand, Registry, Untyped, UntypedMut, lookup,
};
use dlbridge::{DType, Tensor};

fn main() {
    divan::main();
}

const MANY: [usize; 2] = [10, 10_000];

/// `nothing(a, b, *, n) -> out`, with `count` kernels, each for another number, that do nothing.
fn nothing(kernels: usize) -> OpHandle {
    let registry = Registry::new();
    let op = Op::new("nothing")
        .input("a", "T")
        .input("b", "T")
        .output("out", "T")
        .attribute("n", AttributeKind::Int, Some(0.into()));
    registry.define(op).unwrap();
    for number in 0..kernels {
        let kernel = Kernel::new("nothing").attribute("n", [number as i64]);
        let does_nothing = |_: Untyped<'_>, _: Untyped<'_>, _: UntypedMut<'_>| {};
        registry.register(kernel.function(does_nothing)).unwrap();
    }
    registry.op("nothing").unwrap()
}

/// Registering that many kernels of one op.
#[divan::bench(args = MANY, sample_count = 10, sample_size = 1)]
fn registration(kernels: usize) -> OpHandle {
    nothing(kernels)
}

fn six() -> [Tensor; 3] {
    [(); 3].map(|()| Tensor::ones(&[6], DType::F32).unwrap())
}

/// Makes calls with as many signatures as are remembered.
fn fill(op: &OpHandle) {
    let [a, b, _] = six();
    for number in 0..1000 {
        op.call()
            .input(&a)
            .input(&b)
            .attribute("n", number)
            .make()
            .unwrap();
    }
}

/// From the arguments to the kernel, without any check.
#[divan::bench(args = MANY)]
fn lookup_alone(bencher: Bencher, kernels: usize) {
    look_up(bencher, &nothing(kernels));
}

/// The same where calls of a thousand signatures were made before.
#[divan::bench]
fn lookup_among_a_thousand_signatures(bencher: Bencher) {
    let op = nothing(10_000);
    fill(&op);
    look_up(bencher, &op);
}

fn look_up(bencher: Bencher, op: &OpHandle) {
    let tensors = six();
    op.call()
        .input(&tensors[0])
        .input(&tensors[1])
        .make()
        .unwrap();
    let operands = tensors.each_ref().map(Operand::read);
    bencher.bench_local(|| assert!(lookup(black_box(op), black_box(&operands))));
}

/// A whole call, with all checks, of a kernel that does nothing.
#[divan::bench(args = MANY)]
fn call_of_nothing(bencher: Bencher, kernels: usize) {
    call(bencher, &nothing(kernels));
}

#[divan::bench]
fn add_six_numbers_to_an_output(bencher: Bencher) {
    call(bencher, &Registry::global().op("add").unwrap());
}

fn call(bencher: Bencher, op: &OpHandle) {
    let [a, b, mut out] = six();
    bencher.bench_local(|| {
        let call = black_box(op).call().input(&a).input(&b);
        call.output(&mut out).run().unwrap()
    });
}

#[divan::bench]
fn add_six_numbers_in_a_loop(bencher: Bencher) {
    let [a, b, mut out] = six().map(|tensor| tensor.to_vec::<f32>().unwrap());
    bencher.bench_local(|| {
        for ((out, a), b) in out.iter_mut().zip(&a).zip(&b) {
            *out = black_box(*a) + black_box(*b);
        }
    });
}

#[divan::bench]
fn add_six_numbers_to_a_new_tensor(bencher: Bencher) {
    let [a, b, _] = six();
    bencher.bench_local(|| dlbridge::ops::add(black_box(&a), &b).unwrap());
}

/// A call that is made for the first time, and looks at all kernels.
#[divan::bench(args = MANY, sample_count = 10, sample_size = 1)]
fn first_call(bencher: Bencher, kernels: usize) {
    let tensors = six();
    bencher.with_inputs(|| nothing(kernels)).bench_values(|op| {
        op.call()
            .input(&tensors[0])
            .input(&tensors[1])
            .make()
            .unwrap()
    });
}

/// All are registered; each is compared with all that are there.
#[divan::bench(args = MANY, sample_count = 2, sample_size = 1)]
fn register_as_many(kernels: usize) -> OpHandle {
    nothing(kernels)
}
