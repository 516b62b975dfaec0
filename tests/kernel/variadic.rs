//! Variadic inputs: definitions, calls with one tensor to hundreds, and what is checked of each.

use crate::support::{Written, assert_incompatible, assert_refused, op, refused, registry};
use dlbridge::kernel::{
    ArgumentError, IntoOperand, Kernel, Op, Ranked, Reason, RegistrationError, Registry, Source,
    Target, Untyped, observe,
};
use dlbridge::{DType, Tensor, View, ViewMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// `total(*xs: T) -> y: T`.
fn total() -> Op {
    Op::new("total")
        .variadic_input("xs", "T")
        .output("y", "T")
        .in_place("y", "xs")
        .broadcasts()
}

fn totals(xs: Vec<Source<'_, i64>>, y: Target<'_, i64>) {
    let mut sums = vec![0; y.len()];
    for x in &xs {
        sums.iter_mut().zip(x.iter()).for_each(|(sum, x)| *sum += x);
    }
    y.iter().zip(sums).for_each(|(y, sum)| y.set(sum));
}

fn list(tensor: &Tensor) -> Vec<i64> {
    tensor.to_vec().unwrap()
}

#[test]
fn calls_have_one_tensor_to_hundreds() {
    let op = op(total(), [Kernel::new("total").function(totals)]);
    for count in [1, 2, 3, 4, 5, 31, 32, 33, 700] {
        let xs: Vec<Tensor> = (0..count).map(|at| Tensor::from([at, 1])).collect();
        let sum = op.call().inputs(&xs).make().unwrap();
        assert_eq!(list(&sum), [count * (count - 1) / 2, count]);
    }
    let (a, b) = (Tensor::from([1_i64, 2]), Tensor::from([[10_i64], [20]]));
    let sum = op
        .call()
        .input(&a)
        .input(&b)
        .number(100_i64)
        .number(0_i64)
        .make()
        .unwrap();
    assert_eq!(
        (sum.shape(), list(&sum)),
        (&[2, 2][..], vec![111, 112, 121, 122])
    );
    let mut y = Tensor::from([0_i64, 0]);
    assert!(
        op.call()
            .inputs([&a, &a])
            .output(&mut y)
            .run()
            .unwrap()
            .is_empty()
    );
    assert_eq!(list(&y), [2, 4]);
    let first = op.call().named("xs", &a).input(&a).make().unwrap();
    assert_eq!(list(&first), [2, 4]);
}

#[test]
fn each_tensor_is_checked_by_its_name() {
    let op = op(total(), [Kernel::new("total").function(totals)]);
    let (x, none): (_, [&Tensor; 0]) = (Tensor::from([1_i64, 2]), []);
    let missing = r#"total: argument "xs" is missing"#;
    assert_refused!(op.call().make(), Reason::Missing { .. }, missing);
    assert_refused!(
        op.call().inputs(none).make(),
        Reason::Missing { .. },
        missing
    );
    assert_refused!(
        op.call().inputs([Some(&x), Some(&x), None]).make(),
        Reason::Missing { .. },
        r#"total: argument "xs[2]" is missing"#
    );
    let wide = Tensor::from([1_i64, 2, 3]);
    assert_incompatible!(
        op.call().inputs([&x, &x, &x, &wide]).make(),
        Shape,
        r#"total: argument "xs[3]" has shape [3]; it can't be broadcast with [[2]]"#
    );
    let floats = Tensor::from([1.0_f32, 2.0]);
    assert_incompatible!(
        op.call().inputs([&x, &x, &floats]).make(),
        DType,
        r#"total: argument "xs[0]" has elements of int64, and "xs[2]" has float32; cast "xs[0]" and "xs[1]" to float32"#
    );
    let bytes = Tensor::from([1_u8, 2]);
    assert_incompatible!(
        op.call().inputs([&x, &x, &bytes]).make(),
        DType,
        r#"total: argument "xs[2]" has elements of uint8, and "xs[0]" has int64; cast "xs[2]" to int64"#
    );
    let many: Vec<&Tensor> = [&x; 9].into_iter().chain([&floats]).collect();
    let (reason, _) = refused(op.call().inputs(many).make());
    let remedy = r#"cast "xs[0]", "xs[1]" and 7 more to float32"#;
    assert_eq!(reason.incompatibility().remedy.as_deref(), Some(remedy));
    let odd = Tensor::from([0_u8; 64]);
    let first = odd.data_ptr().cast_mut();
    let layout = dlbridge::layout::Layout::contiguous(&[2]).unwrap();
    let at = first.wrapping_add(first.align_offset(8) + 1);
    // SAFETY: the elements aren't read, as the call is refused.
    let misaligned = unsafe {
        dlbridge::kernel::Operand::from_raw(
            at,
            layout.as_ref(),
            DType::I64,
            x.device(),
            false,
            false,
        )
    };
    let (reason, text) = refused(op.call().input(&x).input(misaligned).make());
    assert!(matches!(reason, Reason::Incompatible { .. }), "{reason:?}");
    assert!(
        text.starts_with(r#"total: argument "xs[1]" begins at 0x"#),
        "{text}"
    );
}

#[test]
fn results_may_not_overlap_any_of_the_tensors() {
    let op = op(total(), [Kernel::new("total").function(totals)]);
    let memory = Tensor::from([1_i64, 2, 3, 4, 5, 6]);
    let other = Tensor::from([10_i64, 20, 30]);
    let part = |from: usize| memory.slice(0, from..from + 3).unwrap();
    let (first, second) = (part(0), part(3));
    fn written(tensor: &Tensor) -> Written<'_> {
        // SAFETY: the memory is the test's, and used by the operands of one call alone.
        Written(unsafe {
            dlbridge::kernel::Operand::from_raw(
                tensor.data_ptr().cast_mut(),
                tensor.layout(),
                tensor.dtype(),
                tensor.device(),
                false,
                true,
            )
        })
    }
    let shifted = part(1);
    let call = op
        .call()
        .inputs([&other, &second, &first])
        .output(written(&shifted));
    assert_incompatible!(
        call.run(),
        Alias,
        "total: argument \"y\" is to be written, and shares memory with \"xs[1]\"; it can be exactly that tensor, but \
         not another part of its memory; pass a copy"
    );
    // Any of them may be exactly there.
    let call = op
        .call()
        .inputs([&other, &other, &first])
        .output(written(&first));
    call.run().unwrap();
    assert_eq!(list(&first), [21, 42, 63]);
    assert_eq!(list(&second), [4, 5, 6]);
}

#[test]
fn dispatch_depends_on_every_tensor_and_not_on_their_number() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let kernel = |name: &'static str| {
        Kernel::new("kind").factory(move |_| {
            MADE.fetch_add(1, Ordering::Relaxed);
            Ok(move |_: Vec<&[i64]>, mut y: ViewMut<'_, i64>| {
                y.iter_mut().for_each(|y| *y = name.len() as i64)
            })
        })
    };
    let kind = Op::new("kind")
        .variadic_input("xs", "T")
        .output("y", DType::I64)
        .shapes(|_| Ok(vec![vec![]]));
    let strided =
        |_: Vec<View<'_, i64>>, mut y: ViewMut<'_, i64>| y.iter_mut().for_each(|y| *y = -1);
    let op = op(
        kind,
        [kernel("rows"), Kernel::new("kind").function(strided)],
    );
    let x = Tensor::from([1_i64, 2, 3, 4]);
    let gaps = x.step_by(0, 2).unwrap();
    for count in [1, 2, 3, 100] {
        let all = vec![&x; count];
        assert_eq!(
            op.call().inputs(all).make().unwrap().item::<i64>().unwrap(),
            4
        );
        for at in 0..count {
            let mut all = vec![&x; count];
            all[at] = &gaps;
            assert_eq!(
                op.call().inputs(all).make().unwrap().item::<i64>().unwrap(),
                -1
            );
        }
    }
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
    let matrices = |_: Vec<Ranked<View<'_, i64>, 2>>, _: ViewMut<'_, i64>| {};
    let ranked = Op::new("ranked")
        .variadic_input("xs", "T")
        .output("y", "T")
        .shapes(|_| Ok(vec![vec![]]));
    let ranked = crate::support::op(ranked, [Kernel::new("ranked").function(matrices)]);
    let matrix = Tensor::from([[1_i64]]);
    let (reason, text) = refused(ranked.call().inputs([&matrix, &matrix, &x, &x]).make());
    assert!(matches!(reason, Reason::NoKernel { .. }), "{reason:?}");
    assert_eq!(
        text,
        "ranked: no kernel for (xs[0]: int64 of rank 2 on cpu; y: int64 of rank 0 on cpu; xs[2]: int64 of rank 1 on \
         cpu; xs[3]: int64 of rank 1 on cpu); there are:\n  ranked (cpu, T=int64, xs: rank 2): \"xs[2]\" is of rank 1"
    );
}

#[test]
fn variadic_inputs_follow_others() {
    let op = op(
        Op::new("pick")
            .input("at", DType::I64)
            .optional_input("default", "T2")
            .variadic_input("xs", "T2")
            .output("y", "T2")
            .shapes(|context| {
                let shapes: Vec<_> = context.shapes("xs").collect();
                if shapes.iter().any(|shape| *shape != shapes[0]) {
                    return Err(ArgumentError::shape("xs", shapes[0], "equal shapes").into());
                }
                Ok(vec![context.shape("xs").to_vec()])
            })
            .work(|context| context.shapes("xs").len() as u64),
        [Kernel::new("pick").releases_gil_from(2).function(
            |at: i64,
             default: Option<View<'_, f32>>,
             xs: Vec<View<'_, f32>>,
             mut y: ViewMut<'_, f32>| {
                let chosen = xs
                    .get(at as usize)
                    .or(default.as_ref())
                    .ok_or("there is none")?;
                y.iter_mut().zip(chosen).for_each(|(y, x)| *y = *x);
                Ok::<(), &str>(())
            },
        )],
    );
    let (a, b, c) = (
        Tensor::from([1.0_f32]),
        Tensor::from([2.0_f32]),
        Tensor::from([3.0_f32]),
    );
    let picked = |at: i64, default: Option<&Tensor>| {
        let call = op.call().number(at).input(default).inputs([&b, &c]);
        call.make().map(|y| y.to_vec::<f32>().unwrap())
    };
    assert_eq!(picked(0, None).unwrap(), [2.0]);
    assert_eq!(picked(1, Some(&a)).unwrap(), [3.0]);
    assert_eq!(picked(2, Some(&a)).unwrap(), [1.0]);
    assert!(
        picked(2, None)
            .unwrap_err()
            .to_string()
            .ends_with("failed: there is none")
    );
    let unlike = Tensor::from([1.0_f32, 2.0]);
    let call = op
        .call()
        .number(0_i64)
        .input(None::<&Tensor>)
        .inputs([&b, &unlike]);
    assert_incompatible!(
        call.make(),
        Shape,
        "pick: expected equal shapes for xs, got [1]"
    );
    assert_eq!(
        op.definition().signature(),
        "pick(at: int64, default: T2 | None = None, *xs: T2) -> y: T2"
    );
}

#[test]
fn definitions_of_variadic_inputs_are_checked() {
    let problem = |op: Op| match Registry::new().define(op) {
        Err(RegistrationError::BadOp { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    let text = r#""xs" is variadic, and not the last of the inputs"#;
    assert_eq!(
        problem(Op::new("f").variadic_input("xs", "T").input("y", "T")),
        text
    );
    assert_eq!(
        problem(
            Op::new("f")
                .variadic_input("xs", "T")
                .variadic_input("ys", "T")
        ),
        text
    );
    assert_eq!(
        problem(
            Op::new("f")
                .variadic_input("xs", "T")
                .optional_input("y", "T")
        ),
        text
    );
    let registry = registry(total(), []);
    let refused = |kernel: Kernel| registry.register(kernel).unwrap_err().to_string();
    let one = refused(Kernel::new("total").function(|_: View<'_, i64>, _: ViewMut<'_, i64>| {}));
    assert!(
        one.ends_with(r#"its function takes one tensor for "xs", which is variadic"#),
        "{one}"
    );
    let two = refused(
        Kernel::new("total").function(|_: Vec<View<'_, i64>>, _: Vec<ViewMut<'_, i64>>| {}),
    );
    assert!(
        two.ends_with(r#"its function takes a Vec for "y", which is one tensor"#),
        "{two}"
    );
    assert_eq!(total().signature(), "total(*xs: T) -> y: T");
}

#[test]
fn observers_get_the_arguments_in_order() {
    let op = op(
        Op::new("variadic.observed")
            .input("a", "T")
            .variadic_input("xs", "T")
            .output("y", "T"),
        [Kernel::new("variadic.observed")
            .function(|_: View<'_, i64>, _: Vec<Untyped<'_>>, _: ViewMut<'_, i64>| {})],
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shapes = seen.clone();
    let observer = observe(move |record| {
        if record.op == "variadic.observed" {
            let lens = record.operands.iter().map(|operand| operand.shape()[0]);
            shapes.lock().unwrap().push(lens.collect::<Vec<_>>());
        }
    });
    let xs: Vec<Tensor> = (1..=4)
        .map(|len| Tensor::zeros(&[len], DType::I64).unwrap())
        .collect();
    op.call().inputs(&xs).make().unwrap();
    op.call().inputs(&xs[..2]).make().unwrap();
    op.call()
        .inputs(xs.iter().map(|x| x.into_operand()))
        .make()
        .unwrap();
    drop(observer);
    let expected = [vec![1, 2, 3, 4, 1], vec![1, 2, 1], vec![1, 2, 3, 4, 1]];
    assert_eq!(*seen.lock().unwrap(), expected);
}
