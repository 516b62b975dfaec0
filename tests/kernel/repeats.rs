//! Calls like ones before, of which only what may differ is checked anew. Where arguments may be in
//! memory, the tests of aliasing compare.

use crate::support::{Written, assert_incompatible, assert_refused, copies, copy, op, registry};
use dlbridge::kernel::{
    AttributeKind, Kernel, KernelContext, Op, OpHandle, Operand, Ranked, Reason, Source, Target,
    observe,
};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, Tensor, View, ViewMut};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread;

fn values(op: &OpHandle, x: &Tensor) -> Vec<f32> {
    let made = op.call().input(x).make().unwrap();
    made.to_vec().unwrap()
}

/// `scale(x: T, *, by: float = 2.0) -> y: T`.
fn scale() -> OpHandle {
    let definition = Op::new("scale").input("x", "T").output("y", "T");
    let definition = definition.attribute("by", AttributeKind::Float, Some(2.0.into()));
    let kernel = |context: &KernelContext<'_>| {
        let by: f32 = context.attribute("by")?;
        Ok(move |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| x * by))
    };
    op(definition, [Kernel::new("scale").factory(kernel)])
}

thread_local! {
    /// How often the rule of `copy_counted` was asked in this thread.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// An op that copies, whose rule of shapes counts.
fn copy_counted() -> OpHandle {
    let definition = Op::new("copy").input("x", "T").output("y", "T");
    let definition = definition.shapes(|call| {
        ASKED.set(ASKED.get() + 1);
        Ok(vec![call.shape("x").to_vec()])
    });
    op(definition, [Kernel::new("copy").function(copies)])
}

#[test]
fn rules_are_asked_of_the_first_two_calls_that_are_alike() {
    let op = copy_counted();
    for number in 0..5_i16 {
        let x = Tensor::from([f32::from(number); 3]);
        assert_eq!(values(&op, &x), [f32::from(number); 3]);
    }
    assert_eq!(ASKED.get(), 2);
    assert_eq!(values(&op, &Tensor::from([1.0_f32])), [1.0]);
    assert_eq!(ASKED.get(), 3);
    let in_another_thread = thread::scope(|scope| {
        let call = || {
            values(&op, &Tensor::from([1.0_f32; 3]));
            ASKED.get()
        };
        scope.spawn(call).join().unwrap()
    });
    assert_eq!(in_another_thread, 1);
}

#[test]
fn calls_that_come_by_turns_are_all_known() {
    let op = copy_counted();
    for _ in 0..5 {
        for size in 1..5 {
            let x = Tensor::from(vec![1.0_f32; size]);
            assert_eq!(values(&op, &x), vec![1.0; size]);
        }
    }
    assert_eq!(ASKED.get(), 8);
}

#[test]
fn attributes_tell_calls_apart_to_the_last_bit() {
    let op = scale();
    let x = Tensor::from([1.0_f32; 2]);
    let scaled = |by: f64| {
        let made = op.call().input(&x).attribute("by", by).make().unwrap();
        made.to_vec::<f32>().unwrap()[0].to_bits()
    };
    for _ in 0..4 {
        assert_eq!(values(&op, &x), [2.0; 2]);
        assert_eq!(scaled(3.0), 3_f32.to_bits());
        assert_eq!(scaled(0.0), 0);
        assert_eq!(scaled(-0.0), (-0_f32).to_bits());
        assert!(f32::from_bits(scaled(f64::NAN)).is_nan());
        assert_refused!(
            op.call().input(&x).attribute("by", "two").run(),
            Reason::Attribute { .. },
            r#"scale: attribute "by" is of kind float, not "two""#
        );
    }
}

#[test]
fn dtypes_shapes_and_strides_tell_calls_apart() {
    let by_rows = |x: Ranked<View<'_, f32>, 2>, mut y: Ranked<ViewMut<'_, f32>, 2>| {
        y.0.iter_mut().zip(x.0.iter()).for_each(|(y, x)| *y = *x);
    };
    let doubles = |x: Source<'_, f64>, y: Target<'_, f64>| y.map(&x, |x| 2.0 * x);
    let kernels = [
        Kernel::new("copy").name("rows").function(by_rows),
        Kernel::new("copy").name("doubles").function(doubles),
    ];
    let op = op(copy(), kernels);
    let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    for _ in 0..4 {
        assert_eq!(values(&op, &x), [1.0, 2.0, 3.0, 4.0]);
        let transposed = x.permute(&[1, 0]).unwrap();
        assert_eq!(values(&op, &transposed), [1.0, 3.0, 2.0, 4.0]);
        let made = op.call().input(&Tensor::from([[1.5, 2.0]])).make().unwrap();
        assert_eq!(made.to_vec::<f64>().unwrap(), [3.0, 4.0]);
        let error = op.call().input(&Tensor::from([1.0_f32; 4])).run();
        assert!(matches!(
            *error.unwrap_err().reason,
            Reason::NoKernel { .. }
        ));
        let mut other = Tensor::from([[0.0_f32; 4]]);
        let error = op.call().input(&x).output(&mut other).run();
        assert!(matches!(
            *error.unwrap_err().reason,
            Reason::Incompatible { .. }
        ));
    }
}

#[test]
fn strides_of_what_is_written_tell_calls_apart() {
    let op = op(copy(), [Kernel::new("copy").function(copies)]);
    let mut memory = [1.0_f32; 12];
    let first: *mut u8 = memory.as_mut_ptr().cast();
    let layout = |stride| Layout::strided(&[3], &[stride]).unwrap();
    let layouts = [layout(0), layout(2), layout(3)];
    let call = |x: (usize, usize), y: (usize, usize)| {
        let operand = |(at, stride): (usize, usize), writable| {
            let layout = layouts[stride.saturating_sub(1)].as_ref();
            let first = first.wrapping_add(4 * at);
            // SAFETY: all elements are in the memory above, which no other code uses.
            unsafe { Operand::from_raw(first, layout, DType::F32, Device::CPU, false, writable) }
        };
        let call = op.call().input(operand(x, false));
        call.output(Written(operand(y, true))).run()
    };
    for _ in 0..4 {
        call((0, 2), (5, 2)).unwrap();
        call((0, 2), (0, 2)).unwrap();
        let text = r#"copy: argument "y" is to be written, and elements of it are at one place; pass a copy"#;
        assert_incompatible!(call((0, 2), (5, 0)), Overlap, text);
        call((0, 2), (5, 3)).unwrap();
        let error = call((0, 2), (0, 3)).unwrap_err();
        assert!(
            error.to_string().contains("shares memory with \"x\""),
            "{error}"
        );
        let error = call((0, 3), (0, 2)).unwrap_err();
        assert!(
            error.to_string().contains("shares memory with \"x\""),
            "{error}"
        );
    }
}

#[test]
fn what_is_read_only_is_refused_each_time() {
    let op = op(copy(), [Kernel::new("copy").function(copies)]);
    let x = Tensor::from([1.0_f32]);
    for _ in 0..4 {
        let mut y = Tensor::from([0.0_f32]);
        op.call().input(&x).output(&mut y).run().unwrap();
        let text = r#"copy: argument "y" is to be written, and is read-only; pass a copy"#;
        assert_incompatible!(op.call().input(&x).named("y", &y).run(), ReadOnly, text);
    }
}

#[test]
fn addresses_and_bytes_are_checked_each_time() {
    let views = |x: View<'_, f32>, mut y: ViewMut<'_, f32>| y[[0]] = x[[0]];
    let bools = |x: Source<'_, bool>, y: Target<'_, bool>| y.map(&x, |x| x);
    let kernels = [
        Kernel::new("copy").name("views").function(views),
        Kernel::new("copy").name("bools").function(bools),
    ];
    let op = op(copy(), kernels);
    let layout = Layout::contiguous(&[1]).unwrap();
    let operand = |first: *mut u8, dtype, writable| {
        // SAFETY: all addresses are of one element in the memory below, which no other code uses.
        unsafe { Operand::from_raw(first, layout.as_ref(), dtype, Device::CPU, false, writable) }
    };
    let mut memory = [1.0_f32, 0.0, 0.0, 0.0];
    let first: *mut u8 = memory.as_mut_ptr().cast();
    for _ in 0..4 {
        let call = |x: usize, y: usize| {
            let y = operand(first.wrapping_add(y), DType::F32, true);
            let x = operand(first.wrapping_add(x), DType::F32, false);
            op.call().input(x).output(Written(y)).run()
        };
        call(0, 4).unwrap();
        call(4, 8).unwrap();
        assert!(
            call(0, 6)
                .unwrap_err()
                .to_string()
                .contains("not aligned to 4 bytes")
        );
        let error = call(0, 0).unwrap_err();
        assert!(error.to_string().contains("shares memory with \"x\""));

        for byte in [0_u8, 1, 2] {
            let (mut x, mut y) = ([byte], [0_u8]);
            let y = operand(y.as_mut_ptr(), DType::BOOL, true);
            let x = operand(x.as_mut_ptr(), DType::BOOL, false);
            let called = op.call().input(x).output(Written(y)).run();
            assert_eq!(called.is_ok(), byte < 2, "{called:?}");
        }
    }
}

#[test]
fn kernel_that_is_registered_later_is_used() {
    let definition = Op::new("number").input("x", "T").output("y", "T");
    let registry = registry(definition, []);
    let op = registry.op("number").unwrap();
    let x = Tensor::from([0.0_f32; 3]);
    for priority in 0..3_u8 {
        let number = f32::from(priority);
        registry
            .register(gives(number).priority(priority.into()))
            .unwrap();
        for _ in 0..4 {
            assert_eq!(values(&op, &x), [number; 3]);
        }
    }
}

/// A kernel whose result is a number.
fn gives(number: f32) -> Kernel {
    let kernel = move |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |_| number);
    Kernel::new("number").function(kernel)
}

#[test]
fn broadcast_inputs_are_broadcast_each_time() {
    let definition = Op::new("add")
        .input("a", "T")
        .input("b", "T")
        .output("y", "T");
    let add = |a: Source<'_, f32>, b: Source<'_, f32>, y: Target<'_, f32>| {
        y.zip(&a, &b, |a, b| a + b);
    };
    let op = op(definition.broadcasts(), [Kernel::new("add").function(add)]);
    for number in 0..5_u8 {
        let number = f32::from(number);
        let a = Tensor::from([[number], [10.0]]);
        let b = Tensor::from([1.0_f32, 2.0, 3.0]);
        let sums = [1.0, 2.0, 3.0].map(|b| number + b);
        let mut y = Tensor::from([[0.0_f32; 3]; 2]);
        op.call().input(&a).input(&b).output(&mut y).run().unwrap();
        let made = op.call().input(&a).input(&b).make().unwrap();
        for y in [y, made] {
            assert_eq!(y.shape(), [2, 3]);
            let y = y.to_vec::<f32>().unwrap();
            assert_eq!((&y[..3], &y[3..]), (&sums[..], &[11.0, 12.0, 13.0][..]));
        }
        let made = op.call().input(&b).number(number).make().unwrap();
        assert_eq!(made.to_vec::<f32>().unwrap(), sums);
    }
}

#[test]
fn results_of_kernels_that_do_not_fill_them_are_zeros_each_time() {
    let definition = Op::new("nothing").input("x", "T").output("y", "T");
    let nothing = |_: View<'_, f32>, _: ViewMut<'_, f32>| {};
    let op = op(definition, [Kernel::new("nothing").function(nothing)]);
    let x = Tensor::from([1.0_f32; 100]);
    for _ in 0..5 {
        assert_eq!(values(&op, &x), [0.0; 100]);
    }
}

#[test]
fn inputs_that_are_left_out_tell_calls_apart() {
    let definition = Op::new("sum")
        .input("x", "T")
        .optional_input("more", "T")
        .output("y", "T");
    let sum = |x: Source<'_, f32>, more: Option<Source<'_, f32>>, y: Target<'_, f32>| match more {
        Some(more) => y.zip(&x, &more, |x, more| x + more),
        None => y.map(&x, |x| x),
    };
    let op = op(definition, [Kernel::new("sum").function(sum)]);
    let (x, more) = (Tensor::from([1.0_f32; 2]), Tensor::from([5.0_f32; 2]));
    for _ in 0..4 {
        assert_eq!(values(&op, &x), [1.0; 2]);
        let made = op.call().input(&x).input(Some(&more)).make().unwrap();
        assert_eq!(made.to_vec::<f32>().unwrap(), [6.0; 2]);
        let made = op.call().input(&x).input(None::<&Tensor>).make().unwrap();
        assert_eq!(made.to_vec::<f32>().unwrap(), [1.0; 2]);
    }
}

#[test]
fn labels_and_threads_hold_for_their_calls_alone() {
    let definition = || {
        Op::new("number")
            .output("n", DType::U64)
            .shapes(|_| Ok(vec![vec![]]))
    };
    let threads = |n: Target<'_, u64>| {
        n.iter()
            .for_each(|n| n.set(dlbridge::compute::threads::num_threads() as u64));
    };
    let other = |n: Target<'_, u64>| n.iter().for_each(|n| n.set(100));
    let kernels = [
        Kernel::new("number").function(threads),
        Kernel::new("number").label("other").function(other),
    ];
    let op = op(definition(), kernels);
    let usual = op.call().make().unwrap().item::<u64>().unwrap();
    for _ in 0..4 {
        for threads in 1..4 {
            let made = op.call().threads(threads).make().unwrap();
            assert_eq!(made.item::<u64>().unwrap(), threads as u64);
        }
        let made = op.call().label("other").make().unwrap();
        assert_eq!(made.item::<u64>().unwrap(), 100);
        assert_eq!(op.call().make().unwrap().item::<u64>().unwrap(), usual);
    }
}

#[test]
fn kernels_go_with_their_op() {
    let state = Arc::new(());
    let alive: Weak<()> = Arc::downgrade(&state);
    let kernel = move |x: Source<'_, f32>, y: Target<'_, f32>| {
        let _ = &state;
        y.map(&x, |x| x);
    };
    let op = op(copy(), [Kernel::new("copy").function(kernel)]);
    for _ in 0..4 {
        values(&op, &Tensor::from([1.0_f32]));
    }
    assert!(alive.upgrade().is_some());
    drop(op);
    assert!(alive.upgrade().is_none());
}

#[test]
fn kernel_may_call_its_op_and_others() {
    let inner = scale();
    let kernel = move |x: Source<'_, f32>, y: Target<'_, f32>| {
        // More different calls than a thread keeps.
        let sizes = if cfg!(miri) { 1..20 } else { 1..600 };
        for size in sizes.chain(1..3) {
            let x = Tensor::from(vec![1.0_f32; size]);
            assert_eq!(values(&inner, &x), vec![2.0; size]);
        }
        y.map(&x, |x| x + 1.0);
    };
    let outer = op(copy(), [Kernel::new("copy").function(kernel)]);
    for _ in 0..5 {
        assert_eq!(values(&outer, &Tensor::from([1.0_f32])), [2.0]);
    }
}

#[test]
fn failures_and_panics_do_not_change_later_calls() {
    let kernel = |x: View<'_, f32>, mut y: ViewMut<'_, f32>| match x[[0]] {
        0.0 => Err("zero"),
        1.0 => panic!("one"),
        x => {
            y[[0]] = x;
            Ok(())
        }
    };
    let op = op(copy(), [Kernel::new("copy").function(kernel)]);
    for _ in 0..4 {
        assert_eq!(values(&op, &Tensor::from([2.0_f32])), [2.0]);
        let zero = Tensor::from([0.0_f32]);
        let error = op.call().input(&zero).run().unwrap_err();
        assert!(error.to_string().ends_with("zero"), "{error}");
        let one = Tensor::from([1.0_f32]);
        let call = std::panic::AssertUnwindSafe(|| op.call().input(&one).run());
        std::panic::catch_unwind(call).unwrap_err();
    }
}

#[test]
fn observers_are_told_each_time() {
    let definition = Op::new("repeated").input("x", "T").output("y", "T");
    let op = op(definition, [Kernel::new("repeated").function(copies)]);
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let observer = observe(move |record| {
        if record.op == "repeated" {
            assert_eq!(record.operands.len(), 2);
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    for _ in 0..5 {
        values(&op, &Tensor::from([1.0_f32]));
    }
    drop(observer);
    assert_eq!(count.load(Ordering::Relaxed), 5);
}

#[test]
fn ops_that_come_and_go_are_not_taken_for_each_other() {
    let x = Tensor::from([1.0_f32; 4]);
    for number in 0..40_u8 {
        let number = f32::from(number);
        let definition = Op::new("number").input("x", "T").output("y", "T");
        let op = op(definition, [gives(number)]);
        for _ in 0..3 {
            assert_eq!(values(&op, &x), [number; 4]);
        }
    }
}
