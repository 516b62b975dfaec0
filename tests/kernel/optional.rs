//! Optional inputs: definitions, calls with and without them, and the kernels that calls get.

use crate::support::{assert_incompatible, assert_refused, op, refused, registry};
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{
    AttributeKind, ElementType, Kernel, Op, Ranked, Reason, RegistrationError, Registry, Source,
    Target, Untyped, UntypedMut, observe,
};
use dlbridge::{DType, Tensor, View, ViewMut};
use std::sync::{Arc, Mutex};

/// `scale(x: T, factor: T | None = None, bias: T | None = None) -> y: T`.
fn scale() -> Op {
    Op::new("scale")
        .input("x", "T")
        .optional_input("factor", "T")
        .optional_input("bias", "T")
        .output("y", "T")
        .in_place("y", "x")
        .in_place("y", "bias")
        .broadcasts()
}

type Given<'a> = Option<Source<'a, f32>>;

fn scales(x: Source<'_, f32>, factor: Given<'_>, bias: Given<'_>, y: Target<'_, f32>) {
    y.map(&x, |x| x);
    if let Some(factor) = factor {
        for (y, factor) in y.iter().zip(factor.iter()) {
            y.set(y.get() * factor);
        }
    }
    if let Some(bias) = bias {
        for (y, bias) in y.iter().zip(bias.iter()) {
            y.set(y.get() + bias);
        }
    }
}

#[test]
fn calls_give_or_leave_out_optional_inputs() {
    let op = op(scale(), [Kernel::new("scale").function(scales)]);
    let (x, factor, bias) = (
        Tensor::from([1.0_f32, 2.0]),
        Tensor::from([10.0_f32]),
        Tensor::from([[100.0_f32], [200.0]]),
    );
    let none = || None::<&Tensor>;
    let list = |tensor: Tensor| tensor.to_vec::<f32>().unwrap();
    let call = || op.call().input(&x);
    for _ in 0..2 {
        assert_eq!(list(call().make().unwrap()), [1.0, 2.0]);
        assert_eq!(
            list(call().input(none()).input(none()).make().unwrap()),
            [1.0, 2.0]
        );
        assert_eq!(list(call().input(&factor).make().unwrap()), [10.0, 20.0]);
        assert_eq!(
            list(call().named("factor", Some(&factor)).make().unwrap()),
            [10.0, 20.0]
        );
        let with_bias = [101.0, 102.0, 201.0, 202.0];
        assert_eq!(
            list(call().input(none()).input(&bias).make().unwrap()),
            with_bias
        );
        assert_eq!(list(call().named("bias", &bias).make().unwrap()), with_bias);
        let all = call().input(&factor).input(&bias).make().unwrap();
        assert_eq!(
            (all.shape(), list(all.clone())),
            (&[2, 2][..], vec![110.0, 120.0, 210.0, 220.0])
        );
        assert_eq!(list(call().number(2.0_f32).make().unwrap()), [2.0, 4.0]);
    }
    let mut y = Tensor::from([0.0_f32; 2]);
    assert!(call().output(&mut y).run().unwrap().is_empty());
    assert_eq!(list(y), [1.0, 2.0]);
}

#[test]
fn optional_inputs_are_checked_where_they_are_given() {
    let op = op(scale(), [Kernel::new("scale").function(scales)]);
    let (x, doubles) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f64]));
    assert_refused!(
        op.call().input(None::<&Tensor>).make(),
        Reason::Missing { .. },
        r#"scale: argument "x" is missing"#
    );
    assert_refused!(
        op.call().named("bias", &x).make(),
        Reason::Missing { .. },
        r#"scale: argument "x" is missing"#
    );
    let none = || None::<&Tensor>;
    assert_refused!(
        op.call()
            .input(&x)
            .input(none())
            .input(none())
            .input(none())
            .make(),
        Reason::TooMany { .. },
        "scale: takes 3 tensors but 4 were given"
    );
    assert_refused!(
        op.call().input(&x).input(none()).named("factor", &x).make(),
        Reason::GivenTwice { .. },
        r#"scale: argument "factor" was given twice"#
    );
    assert_incompatible!(
        op.call().input(&x).input(none()).input(&doubles).make(),
        DType,
        r#"scale: argument "x" has elements of float32, and "bias" has float64; cast "x" to float64"#
    );
    let wide = Tensor::from([1.0_f32, 2.0, 3.0]);
    assert_incompatible!(
        op.call().input(&x).named("bias", &wide).make(),
        Shape,
        r#"scale: argument "bias" has shape [3]; it can't be broadcast with [[2]]"#
    );
    // Where it is left out nothing is in its place.
    let mut y = x.copy().unwrap();
    let view = y.copy().unwrap();
    op.call().input(&view).output(&mut y).run().unwrap();
}

#[test]
fn a_kernel_that_takes_no_option_is_for_calls_that_give_the_input() {
    let both = |x: Source<'_, f32>,
                f: Option<Source<'_, f32>>,
                b: Option<Untyped<'_>>,
                y: Target<'_, f32>| {
        assert!(f.is_none() && b.is_none());
        y.map(&x, |_| 1.0);
    };
    let factor =
        |x: Source<'_, f32>, _: Source<'_, f32>, b: Option<Untyped<'_>>, y: Target<'_, f32>| {
            assert!(b.is_none());
            y.map(&x, |_| 2.0);
        };
    let one = op(
        scale(),
        [
            Kernel::new("scale").function(both),
            Kernel::new("scale").function(factor),
        ],
    );
    let x = Tensor::from([0.0_f32]);
    assert_eq!(
        one.call()
            .input(&x)
            .make()
            .unwrap()
            .to_vec::<f32>()
            .unwrap(),
        [1.0]
    );
    assert_eq!(
        one.call()
            .input(&x)
            .number(1.0_f32)
            .make()
            .unwrap()
            .to_vec::<f32>()
            .unwrap(),
        [2.0]
    );
    let needy =
        |x: Source<'_, f32>, _: Source<'_, f32>, _: Option<Untyped<'_>>, y: Target<'_, f32>| {
            y.map(&x, |x| x);
        };
    let needy = op(scale(), [Kernel::new("scale").function(needy)]);
    let (reason, text) = refused(needy.call().input(&x).make());
    assert!(matches!(reason, Reason::NoKernel { .. }), "{reason:?}");
    assert_eq!(
        text,
        "scale: no kernel for (x: float32 of rank 1 on cpu; factor: None; bias: None; y: float32 of rank 1 on cpu); \
         there are:\n  scale (cpu, T=float32, factor: given): \"factor\" is None"
    );
    assert!(needy.call().input(&x).input(&x).make().is_ok());
}

#[test]
fn kernels_that_differ_in_an_absent_input_alone_are_ambiguous() {
    let any = || {
        Op::new("f")
            .input("x", DType::F32)
            .optional_input("other", ElementType::Any)
            .output("y", DType::F32)
    };
    macro_rules! kernel {
        ($ty:ty) => {
            Kernel::new("f")
                .function(|_: View<'_, f32>, _: Option<View<'_, $ty>>, _: ViewMut<'_, f32>| {})
        };
    }
    let registry = registry(any(), [kernel!(f32)]);
    let clash = registry.register(kernel!(f64));
    assert!(
        matches!(clash, Err(RegistrationError::Ambiguous { .. })),
        "{clash:?}"
    );
    // One that is for calls with the input is told apart.
    let given = |_: View<'_, f32>, _: View<'_, f64>, _: ViewMut<'_, f32>| {};
    registry.register(Kernel::new("f").function(given)).unwrap();
}

#[test]
fn definitions_of_optional_inputs_are_checked() {
    let rejected = |op: Op| match Registry::new().define(op) {
        Err(RegistrationError::BadOp { problem, .. }) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        rejected(Op::new("f").optional_input("a", DType::F32).input("b", "T")),
        r#""b" is required, and comes after "a", which isn't"#
    );
    assert_eq!(
        rejected(
            Op::new("f")
                .input("x", "T")
                .optional_input("a", "U")
                .output("y", "T")
        ),
        r#"nothing says what U is in a call without "a""#
    );
    assert_eq!(
        rejected(
            Op::new("f")
                .input("x", DType::F32)
                .optional_input("a", "T")
                .output("y", "T")
        ),
        r#"nothing says what T is in a call without "a""#
    );
    assert_eq!(
        rejected(
            Op::new("f")
                .optional_input("a", DType::F32)
                .output("y", DType::F32)
        ),
        "outputs need a rule for their shapes, as all inputs are optional"
    );
    assert_eq!(
        rejected(
            Op::new("f")
                .optional_input("a", DType::F32)
                .output("y", DType::F32)
                .sizes("a[n] -> y[3]")
                .keeps_shape(|_| Ok(()))
        ),
        "outputs need a rule for their shapes, as all inputs are optional"
    );
    let shaped = Op::new("f")
        .optional_input("a", DType::F32)
        .output("y", DType::F32);
    let shaped = shaped.shapes(|context| Ok(vec![vec![context.shapes("a").len()]]));
    let kernel = |_: Option<View<'_, f32>>, _: ViewMut<'_, f32>| {};
    let shaped = op(shaped, [Kernel::new("f").function(kernel)]);
    assert_eq!(shaped.call().make().unwrap().shape(), [0]);
    assert_eq!(shaped.call().number(1.0_f32).make().unwrap().shape(), [1]);

    let registry = registry(scale(), []);
    let takes_option = |_: Option<View<'_, f32>>,
                        _: Option<Untyped<'_>>,
                        _: Option<Untyped<'_>>,
                        _: ViewMut<'_, f32>| {};
    let refused = registry
        .register(Kernel::new("scale").function(takes_option))
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with(r#"its function takes an Option for "x", which every call gives"#),
        "{refused}"
    );
    assert_eq!(
        scale().signature(),
        "scale(x: T, factor: T | None = None, bias: T | None = None) -> y: T"
    );
    let any = Op::new("f")
        .input("x", "T")
        .optional_input("a", ElementType::Any);
    let any = any.attribute("n", AttributeKind::Int, None);
    assert_eq!(any.signature(), "f(x: T, a = None, *, n: int) -> nothing");
}

#[test]
fn rules_know_which_inputs_are_given() {
    let ruled = Op::new("f")
        .input("x", DType::F32)
        .optional_input("model", DType::F32)
        .output("y", DType::F32)
        .shapes(|context| {
            let given = context.is_given("model");
            assert_eq!(context.shapes("model").len(), usize::from(given));
            let name = if given { "model" } else { "x" };
            assert_eq!(context.dtype(name), DType::F32);
            Ok(vec![context.shape(name).to_vec()])
        });
    let kernel = |_: View<'_, f32>, _: Option<Ranked<View<'_, f32>, 2>>, _: ViewMut<'_, f32>| {};
    let op = op(ruled, [Kernel::new("f").function(kernel)]);
    let (x, like) = (Tensor::from([1.0_f32]), Tensor::from([[1.0_f32, 2.0]]));
    assert_eq!(op.call().input(&x).make().unwrap().shape(), [1]);
    assert_eq!(
        op.call().input(&x).input(&like).make().unwrap().shape(),
        [1, 2]
    );
    let (reason, _) = refused(op.call().input(&x).input(&x).make());
    assert!(matches!(reason, Reason::NoKernel { .. }), "{reason:?}");
}

#[test]
#[should_panic(expected = "the call has no input \"model\"")]
fn rules_that_read_an_absent_input_panic() {
    let ruled = Op::new("f")
        .input("x", "T")
        .optional_input("model", "T")
        .output("y", "T");
    let ruled = ruled.shapes(|context| Ok(vec![context.shape("model").to_vec()]));
    let _ = op(ruled, []).call().number(1.0_f32).make();
}

#[test]
fn observers_get_no_absent_arguments() {
    let op = op(
        Op::new("optional.observed")
            .input("x", "T")
            .optional_input("a", "T")
            .output("y", "T"),
        [Kernel::new("optional.observed")
            .function(|_: View<'_, f32>, _: Option<View<'_, f32>>, _: ViewMut<'_, f32>| {})],
    );
    let seen = Arc::new(Mutex::new(Vec::new()));
    let shapes = seen.clone();
    let observer = observe(move |record| {
        if record.op == "optional.observed" {
            let shapes_of = record
                .operands
                .iter()
                .map(|operand| operand.shape().to_vec());
            shapes
                .lock()
                .unwrap()
                .push((shapes_of.collect::<Vec<_>>(), record.nbytes()));
        }
    });
    let (x, a) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32; 3]));
    op.call().input(&x).make().unwrap();
    op.call().input(&x).input(&a).make().unwrap();
    drop(observer);
    let expected = [
        (vec![vec![2], vec![2]], 16),
        (vec![vec![2], vec![3], vec![2]], 28),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn absent_inputs_are_on_no_device() {
    let kernel = |_: Untyped<'_>, a: Option<Untyped<'_>>, _: UntypedMut<'_>| assert!(a.is_none());
    let copy = || {
        Op::new("f")
            .input("x", "T")
            .optional_input("a", "T")
            .output("y", "T")
    };
    let kernels = [DeviceKind::Cpu, DeviceKind::Rocm]
        .map(|device| Kernel::new("f").on(device).function(kernel));
    let op = op(copy(), kernels);
    let memory = [0_u8; 4];
    let layout = dlbridge::layout::Layout::contiguous(&[4]).unwrap();
    let rocm = dlbridge::Device::new(DeviceKind::Rocm, 0);
    let operand = |writable| {
        let first = memory.as_ptr().cast_mut();
        // SAFETY: the kernel doesn't touch the elements.
        unsafe {
            dlbridge::kernel::Operand::from_raw(
                first.wrapping_add(4 * usize::from(writable)),
                layout.as_ref(),
                DType::U8,
                rocm,
                false,
                writable,
            )
        }
    };
    let call = op.call().input(operand(false));
    call.output(crate::support::Written(operand(true)))
        .run()
        .unwrap();
}
