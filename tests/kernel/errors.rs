//! Calls that are refused: for which reason, and in which words.

use crate::support::{assert_incompatible, assert_refused, copies, copy, op};
use dlbridge::device::DeviceKind;
use dlbridge::error::{Incompatibility, IncompatibilityKind};
use dlbridge::kernel::{
    ArgumentError, AttributeKind, Kernel, KernelContext, Op, Reason, Registry, Source, Target,
    Untyped, UntypedMut,
};
use dlbridge::{DType, Tensor, View, ViewMut};

fn copying() -> dlbridge::kernel::OpHandle {
    op(copy(), [Kernel::new("copy").function(copies)])
}

#[test]
fn lookup_of_an_unknown_op_fails() {
    let registry = Registry::new();
    let text = "mul: there is no such op; there are none";
    assert_refused!(registry.op("mul"), Reason::NoSuchOp { .. }, text);
    registry.define(copy()).unwrap();
    registry.define(Op::new("add")).unwrap();
    let text = "mul: there is no such op; there are add, copy";
    assert_refused!(registry.op("mul"), Reason::NoSuchOp { .. }, text);
}

#[test]
fn unknown_names_are_answered_with_the_nearest_one() {
    let registry = Registry::new();
    registry.define(copy()).unwrap();
    let text = "paste: there is no such op; there are copy";
    assert_refused!(registry.op("paste"), Reason::NoSuchOp { .. }, text);
    let fields = registry.op("paste").unwrap_err().reason.incompatibility();
    assert_eq!(
        (fields.remedy.as_deref(), fields.wanted.as_deref()),
        (None, Some("copy"))
    );
    let text = "coppy: there is no such op; there are copy; did you mean \"copy\"?";
    assert_refused!(registry.op("coppy"), Reason::NoSuchOp { .. }, text);
    let fields = registry.op("coppy").unwrap_err().reason.incompatibility();
    assert_eq!(fields.remedy.as_deref(), Some("did you mean \"copy\"?"));
    assert_eq!(fields.reason(), "there is no such op; there are copy");
}

#[test]
fn missing_kernel_error_lists_the_reason_of_each() {
    let of_matrices = |_: dlbridge::kernel::Ranked<View<'_, f32>, 2>, _: ViewMut<'_, f32>| {};
    let slices = |_: &[f32], _: &mut [f32]| {};
    let untyped = |_: Untyped<'_>, _: UntypedMut<'_>| {};
    let op = op(
        copy().attribute("n", AttributeKind::Int, Some(0.into())),
        [
            Kernel::new("copy").label("mine").function(copies),
            Kernel::new("copy").on(DeviceKind::Cuda).function(untyped),
            Kernel::new("copy")
                .types("T", &[DType::I8])
                .function(untyped),
            Kernel::new("copy").function(of_matrices),
            Kernel::new("copy").function(slices),
            Kernel::new("copy").attribute("n", [1, 2]).function(copies),
        ],
    );
    let x = Tensor::from([1.0_f32, 2.0, 3.0]).step_by(0, 2).unwrap();
    assert_refused!(
        op.call().input(&x).make(),
        Reason::NoKernel { .. },
        "copy: no kernel for (x: float32 of rank 1 on cpu, strided; y: float32 of rank 1 on cpu); there are:\n  \
         copy (cpu, T=float32, label \"mine\"): its label is \"mine\"\n  \
         copy (cuda): \"x\" is on cpu\n  \
         copy (cpu, T=int8): \"x\" is of float32\n  \
         copy (cpu, T=float32, x: rank 2): \"x\" is of rank 1\n  \
         copy (cpu, T=float32, x: row-major, y: row-major): \"x\" isn't row-major without gaps; pass a copy\n  \
         copy (cpu, T=float32, n=1|2): \"n\" is 0"
    );
    let none = crate::support::op(copy(), []);
    assert_refused!(
        none.call().input(&x).label("fast").make(),
        Reason::NoKernel { .. },
        "copy: no kernel for (x: float32 of rank 1 on cpu, strided; y: float32 of rank 1 on cpu), label \"fast\"; there are none"
    );
}

#[test]
fn call_rejects_wrong_argument_count() {
    let (op, x) = (copying(), Tensor::from([1.0_f32]));
    let (mut y, mut z) = (x.copy().unwrap(), x.copy().unwrap());
    let text = r#"copy: argument "x" is missing"#;
    assert_refused!(op.call().make(), Reason::Missing { .. }, text);
    let text = "copy: takes 1 tensor but 2 were given";
    assert_refused!(
        op.call().input(&x).input(&x).make(),
        Reason::TooMany { .. },
        text
    );
    let results = op.call().input(&x).output(&mut y).output(&mut z);
    assert_refused!(results.run(), Reason::TooMany { .. }, text);
    let text = r#"copy: argument "x" was given twice"#;
    let twice = op.call().input(&x).named("x", &x);
    assert_refused!(twice.run(), Reason::GivenTwice { .. }, text);
    let text = r#"copy: there is no argument "z"; there are x, y"#;
    assert_refused!(
        op.call().named("z", &x).run(),
        Reason::NoSuchArgument { .. },
        text
    );
    let first = op.call().named("z", &x).input(&x).input(&x);
    assert_refused!(first.run(), Reason::NoSuchArgument { .. }, text);
}

#[test]
fn call_rejects_unknown_attributes() {
    let with_numbers = copy()
        .attribute("n", AttributeKind::Int, Some(0.into()))
        .attribute("must", AttributeKind::Float, None);
    let op = op(with_numbers, [Kernel::new("copy").function(copies)]);
    let x = Tensor::from([1.0_f32]);
    let call = || op.call().input(&x);
    let text = r#"copy: there is no argument "m"; there are n, must"#;
    assert_refused!(
        call().attribute("m", 1).make(),
        Reason::NoSuchArgument { .. },
        text
    );
    let text = r#"copy: argument "must" is missing"#;
    assert_refused!(call().make(), Reason::Missing { .. }, text);
    assert_refused!(
        call().attribute("n", 1).make(),
        Reason::Missing { .. },
        text
    );
    let text = r#"copy: attribute "n" is of kind int, not 1.5"#;
    let wrong = call().attribute("n", 1.5).attribute("must", 1.0);
    assert_refused!(wrong.make(), Reason::Attribute { .. }, text);
    let text = r#"copy: argument "n" was given twice"#;
    let twice = call()
        .attribute("n", 1)
        .attribute("must", 1)
        .attribute("n", 1);
    assert_refused!(twice.make(), Reason::GivenTwice { .. }, text);
}

#[test]
fn call_rejects_mismatched_dtypes() {
    let kernel = |_: View<'_, f32>, _: View<'_, f32>, _: View<'_, u8>, _: ViewMut<'_, f32>| {};
    let mixed = Op::new("f")
        .input("a", "T")
        .input("b", "T")
        .input("m", DType::U8)
        .output("c", "T");
    let op = op(mixed, [Kernel::new("f").function(kernel)]);
    let (x, i) = (Tensor::from([1.0_f32]), Tensor::from([1_u8]));
    let text = r#"f: argument "b" has elements of uint8, and "a" has float32; cast "b" to float32"#;
    assert_incompatible!(op.call().input(&x).input(&i).input(&i).make(), DType, text);
    let text = r#"f: argument "m" has elements of float32, and uint8 is needed; cast it to uint8"#;
    assert_incompatible!(op.call().input(&x).input(&x).input(&x).make(), DType, text);
    let text = r#"f: argument "c" has elements of uint8, and the result is float32; pass a tensor of float32"#;
    let mut out = Tensor::from([1_u8]);
    let to_bytes = op.call().input(&x).input(&x).input(&i).output(&mut out);
    assert_incompatible!(to_bytes.run(), DType, text);
}

#[test]
fn call_rejects_mismatched_shapes() {
    let kernel = |_: View<'_, f32>, _: ViewMut<'_, f32>, _: ViewMut<'_, f32>| {};
    let written = Op::new("f")
        .input("a", "T")
        .in_out("b", "T")
        .output("c", "T")
        .broadcasts();
    let op = op(written, [Kernel::new("f").function(kernel)]);
    let row = Tensor::from([1.0_f32, 2.0]);
    let matrix = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    let mut b = Tensor::from([1.0_f32, 2.0, 3.0]);
    assert_incompatible!(
        op.call().input(&row).in_out(&mut b).run(),
        Shape,
        r#"f: argument "b" has shape [3]; it can't be broadcast with [[2]]"#
    );
    assert_incompatible!(
        op.call().input(&matrix).in_out(&mut b).run(),
        Shape,
        r#"f: argument "b" has shape [3]; it is written, and can't be broadcast to [1, 3]"#
    );
    let mut c = Tensor::from([[1.0_f32]]);
    let x = b.copy().unwrap();
    assert_incompatible!(
        op.call().input(&x).in_out(&mut b).output(&mut c).run(),
        Shape,
        r#"f: argument "c" has shape [1, 1]; the result has [3]"#
    );
}

#[test]
fn errors_of_rules_and_kernels_are_passed_on() {
    let x = Tensor::from([1.0_f32]);
    let ruled = copy().shapes(|_| Err("no shape is good enough".into()));
    let text = "copy: no shape is good enough";
    let op = op(ruled, [Kernel::new("copy").function(copies)]);
    assert_refused!(op.call().input(&x).make(), Reason::Invalid(_), text);

    for (found, ruled) in [
        (0, copy().shapes(|_| Ok(vec![]))),
        (2, copy().shapes(|_| Ok(vec![vec![1]; 2]))),
    ] {
        let op = crate::support::op(ruled, [Kernel::new("copy").function(copies)]);
        let text = "which is not 1, one for each output";
        let text = format!("copy: the rule of shapes gives {found}, {text}");
        assert_refused!(op.call().input(&x).make(), Reason::Invalid(_), text);
    }

    let fails = |_: View<'_, f32>, _: ViewMut<'_, f32>| Err::<(), _>("too tired");
    let op = crate::support::op(copy(), [Kernel::new("copy").name("lazy").function(fails)]);
    let text = "copy: copy lazy (cpu, T=float32) failed: too tired";
    assert_refused!(op.call().input(&x).make(), Reason::Kernel { .. }, text);

    let refuses = |_: &KernelContext<'_>| {
        Err::<fn(Source<'_, f32>, Target<'_, f32>), _>("no such kernel here".into())
    };
    let op = crate::support::op(copy(), [Kernel::new("copy").factory(refuses)]);
    let text = "copy: copy (cpu, T=float32) can't be made: no such kernel here";
    assert_refused!(op.call().input(&x).make(), Reason::Factory { .. }, text);
}

#[test]
fn argument_errors_of_rules_kernels_and_factories_have_fields() {
    let x = Tensor::from([1.0_f32]);
    let errors = [
        ArgumentError::index("x", -4, 1, 3),
        ArgumentError::axis(2, 0),
        ArgumentError::value("k", "5", "0 to 4").with_remedy("pass fewer"),
        ArgumentError::shape("x", &[1], "[2, 3]"),
        ArgumentError::dtype("x", DType::F32, "integers"),
        ArgumentError::new(
            "x",
            Incompatibility::new(IncompatibilityKind::Device, "here", "there"),
        ),
    ];
    let expected = [
        (
            "index",
            "x",
            "-4",
            "-3 to 2",
            "index -4 is out of bounds for axis 1 with size 3",
        ),
        (
            "index",
            "axis",
            "2",
            "none",
            "axis 2 is out of bounds for a tensor of rank 0",
        ),
        (
            "value",
            "k",
            "5",
            "0 to 4",
            "expected 0 to 4 for k, got 5; pass fewer",
        ),
        (
            "shape",
            "x",
            "[1]",
            "[2, 3]",
            "expected [2, 3] for x, got [1]",
        ),
        (
            "dtype",
            "x",
            "float32",
            "integers",
            "expected integers for x, got float32",
        ),
        ("device", "x", "here", "there", "expected there, got here"),
    ];
    static ERRORS: std::sync::Mutex<Vec<ArgumentError>> = std::sync::Mutex::new(Vec::new());
    *ERRORS.lock().unwrap() = errors.to_vec();
    fn error(context: i64) -> ArgumentError {
        ERRORS.lock().unwrap()[context as usize].clone()
    }
    let numbered = || copy().attribute("n", AttributeKind::Int, Some(0.into()));
    let ruled = op(
        numbered().shapes(|context| Err(error(context.attribute("n")?).into())),
        [Kernel::new("copy").function(copies)],
    );
    let made = op(
        numbered(),
        [Kernel::new("copy").factory(|context: &KernelContext<'_>| {
            let error = error(context.attribute("n")?);
            Err::<fn(Source<'_, f32>, Target<'_, f32>), _>(error.into())
        })],
    );
    let run = op(
        numbered(),
        [Kernel::new("copy").factory(|context: &KernelContext<'_>| {
            let error = error(context.attribute("n")?);
            Ok(move |_: Source<'_, f32>, _: Target<'_, f32>| Err::<(), _>(error.clone()))
        })],
    );
    for op in [ruled, made, run] {
        for (at, (kind, argument, found, wanted, text)) in expected.iter().enumerate() {
            let called = op.call().input(&x).attribute("n", at as i64).make();
            let (reason, message) = crate::support::refused(called);
            assert_eq!(message, format!("copy: {text}"));
            let fields = reason.incompatibility();
            assert_eq!(fields.kind.as_str(), *kind);
            assert_eq!(fields.found.as_deref(), Some(*found));
            assert_eq!(fields.wanted.as_deref(), Some(*wanted));
            let Reason::Incompatible {
                argument: named, ..
            } = reason
            else {
                panic!("{reason:?}");
            };
            assert_eq!(named, *argument);
        }
    }
    assert_eq!(errors[2].argument(), "k");
    assert_eq!(
        errors[2].incompatibility().remedy.as_deref(),
        Some("pass fewer")
    );
}

#[test]
fn make_rejects_ops_with_other_than_one_result() {
    let adds_one = |mut y: ViewMut<'_, f32>| y.iter_mut().for_each(|y| *y += 1.0);
    let op = op(
        Op::new("inc").in_out("y", "T"),
        [Kernel::new("inc").function(adds_one)],
    );
    let mut y = Tensor::from([1.0_f32]);
    let text = "inc: one result is to be made, and there are 0";
    assert_refused!(op.call().in_out(&mut y).make(), Reason::Invalid(_), text);
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0]);
    assert!(op.call().in_out(&mut y).run().unwrap().is_empty());
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0]);

    let (copy, x, mut y) = (copying(), Tensor::from([1.0_f32]), Tensor::from([0.0_f32]));
    let given = copy.call().input(&x).output(&mut y).make();
    let text = "copy: one result is to be made, and there are 0";
    assert_refused!(given, Reason::Invalid(_), text);
    assert_eq!(y.to_vec::<f32>().unwrap(), [0.0]);
}

#[test]
fn error_names_the_result_that_cannot_be_made() {
    let op = op(
        copy().shapes(|_| Ok(vec![vec![usize::MAX, 2]])),
        [Kernel::new("copy").function(copies)],
    );
    let called = op.call().input(&Tensor::from([1.0_f32])).make();
    let (reason, text) = crate::support::refused(called);
    assert!(matches!(reason, Reason::Allocation { .. }), "{reason:?}");
    assert!(
        text.starts_with(r#"copy: the result "y" can't be made: "#),
        "{text}"
    );
}

#[test]
fn error_has_the_op_as_a_field() {
    let error = copying().call().make().unwrap_err();
    assert_eq!(error.op, "copy");
    let Reason::Missing { argument } = *error.reason else {
        panic!("{}", error.reason);
    };
    assert_eq!(argument, "x");
}
