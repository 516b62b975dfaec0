//! Registration, and its errors.

use crate::support::{copies, copy};
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{
    AttributeKind, ElementType, Kernel, Op, RegistrationError, Registry, Untyped, UntypedMut,
};
use dlbridge::{DType, View, ViewMut};

#[track_caller]
fn assert_no_op(op: Op, problem: &str) {
    let name = op.name().to_owned();
    let error = Registry::new().define(op).unwrap_err();
    assert_eq!(error.op(), name);
    assert_eq!(
        error.to_string(),
        format!("op {name:?} makes no sense: {problem}")
    );
    assert!(matches!(error, RegistrationError::BadOp { .. }));
}

#[test]
fn definition_rejects_invalid_names() {
    let names = "names are letters, digits and _, in parts between dots";
    for name in ["", ".", "a.", "a..b", "1st", "a-b", "größe", "_a"] {
        assert_no_op(Op::new(name), names);
    }
    for name in ["a", "a_1", "crate.op", "a.b.c"] {
        Registry::new().define(Op::new(name)).unwrap();
    }
    assert_no_op(
        Op::new("f").input("a b", "T"),
        r#""a b" can't be an argument's name"#,
    );
    let twice = Op::new("f").input("a", "T").input("a", "T");
    assert_no_op(twice, r#"the name "a" is taken"#);
    let of_both = Op::new("f")
        .input("a", "T")
        .attribute("a", AttributeKind::Int, None);
    assert_no_op(of_both, r#"the name "a" is taken"#);
    for name in ["out", "like", "label"] {
        assert_no_op(
            Op::new("f").input(name, "T"),
            &format!("the name {name:?} is taken"),
        );
    }
    Registry::new()
        .define(Op::new("f").input("a", "T").output("out", "T"))
        .unwrap();
    let named_like = Op::new("f").input("a", "T").output("like", "T");
    assert_no_op(named_like, r#"the name "like" is taken"#);
}

#[test]
fn definition_rejects_contradictions() {
    let op = || Op::new("f").input("a", "T");
    let many = (0..32).fold(Op::new("f"), |op, at| op.input(format!("a{at}"), "T"));
    assert_no_op(many, "there can be 31 tensors at most");
    let most = (0..31).fold(Op::new("f"), |op, at| op.input(format!("a{at}"), "T"));
    Registry::new().define(most).unwrap();
    assert_no_op(
        Op::new("f")
            .input("a", "T")
            .output("b", "T")
            .input("c", "T"),
        "outputs come after all inputs",
    );
    assert_no_op(
        Op::new("f").output("b", DType::F32).keeps_shape(|_| Ok(())),
        "outputs without inputs need a rule for their shapes",
    );
    assert_no_op(
        copy().broadcasts().keeps_shape(|_| Ok(())),
        "it broadcasts, and can't keep the first input's shape",
    );
    assert_no_op(
        Op::new("f").output("b", DType::F32),
        "outputs without inputs need a rule for their shapes",
    );
    let unknown = r#"nothing says which elements "b" has"#;
    assert_no_op(op().output("b", "U"), unknown);
    assert_no_op(op().output("b", ElementType::Any), unknown);
    let of_attribute = || ElementType::Attribute("dtype".into());
    assert_no_op(op().output("b", of_attribute()), unknown);
    let of_wrong_kind = op().attribute("dtype", AttributeKind::Int, None);
    assert_no_op(of_wrong_kind.output("b", of_attribute()), unknown);
    assert_no_op(
        Op::new("f").input("a", of_attribute()),
        r#""dtype" can't say which elements "a" has"#,
    );
    assert_no_op(
        op().attribute("n", AttributeKind::Int, Some(1.5.into())),
        r#"the default of "n" is not of kind int"#,
    );
    for (output, input) in [("a", "b"), ("b", "c"), ("b", "b"), ("b", "d")] {
        let op = op()
            .in_out("d", "T")
            .output("b", "T")
            .in_place(output, input);
        assert_no_op(op, &format!("{output:?} can't be where {input:?} is"));
    }
}

#[test]
fn definition_rejects_a_different_second_definition() {
    let registry = Registry::new();
    registry.define(copy()).unwrap();
    registry.define(copy()).unwrap();
    for other in [
        copy().doc("otherwise"),
        copy().broadcasts(),
        copy().attribute("n", AttributeKind::Int, None),
        copy().shapes(|_| Ok(Vec::new())),
        copy().work(|_| 0),
        Op::new("copy").input("x", "T").output("y", "T"),
    ] {
        let error = registry.define(other).unwrap_err();
        assert_eq!(error, RegistrationError::OpExists { op: "copy".into() });
        assert_eq!(
            error.to_string(),
            r#"op "copy" is defined already, and otherwise"#
        );
    }
}

#[track_caller]
fn assert_no_kernel(op: Op, kernel: Kernel, problem: &str) {
    let name = op.name().to_owned();
    let registry = Registry::new();
    registry.define(op).unwrap();
    let error = registry.register(kernel).unwrap_err();
    assert_eq!(error.op(), name);
    let text = format!("the kernel can't be a kernel of op {name:?}: {problem}");
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, RegistrationError::BadKernel { .. }));
    assert!(registry.kernels().is_empty());
}

#[test]
fn registration_rejects_unknown_ops() {
    let error = Registry::new()
        .register(Kernel::new("copy").name("mine").function(copies))
        .unwrap_err();
    let (op, kernel) = ("copy".into(), "mine".into());
    assert_eq!(error, RegistrationError::NoSuchOp { op, kernel });
    assert_eq!(
        error.to_string(),
        r#"kernel mine registered for unknown op "copy""#
    );
}

#[test]
fn registration_rejects_functions_unlike_the_op() {
    let function = |_: View<'_, f32>| {};
    assert_no_kernel(copy(), Kernel::new("copy"), "it has no function");
    assert_no_kernel(
        copy(),
        Kernel::new("copy").function(function),
        "its function has 1 arguments, and copy(x: T) -> y: T has 2",
    );
    let only_reads = |_: View<'_, f32>, _: View<'_, f32>| {};
    let problem = r#"its function only reads "y""#;
    assert_no_kernel(copy(), Kernel::new("copy").function(only_reads), problem);
    let writes = |_: ViewMut<'_, f32>, _: ViewMut<'_, f32>| {};
    assert_no_kernel(
        copy(),
        Kernel::new("copy").function(writes),
        r#"its function writes "x""#,
    );
    let converts = |_: View<'_, f32>, _: ViewMut<'_, f64>| {};
    let problem = "its T is float64, and something else";
    assert_no_kernel(copy(), Kernel::new("copy").function(converts), problem);
    let of_bytes = Op::new("f").input("x", DType::U8);
    let problem = r#"its "x" is float32, and not uint8"#;
    assert_no_kernel(of_bytes, Kernel::new("f").function(function), problem);
}

#[test]
fn registration_rejects_unknown_and_repeated_names() {
    let kernel = || Kernel::new("copy").function(copies);
    let signature = "copy(x: T) -> y: T";
    assert_no_kernel(
        copy(),
        kernel().types("U", &[DType::F32]),
        &format!("{signature} has no type variable \"U\""),
    );
    assert_no_kernel(
        copy(),
        kernel().types("T", &[DType::F32, DType::F64]),
        "its T is float32, and something else",
    );
    let types = kernel().types("T", &[DType::F32]).types("T", &[DType::F32]);
    assert_no_kernel(copy(), types, "the types of T are given twice");
    let problem = format!("{signature} has no attribute \"n\"");
    assert_no_kernel(copy(), kernel().attribute("n", [1]), &problem);
    let problem = format!("{signature} has no argument \"z\"");
    assert_no_kernel(copy(), kernel().host_memory("z"), &problem);
    let with_number = || copy().attribute("n", AttributeKind::Int, Some(0.into()));
    let problem = r#"attribute "n" is of kind int"#;
    assert_no_kernel(with_number(), kernel().attribute("n", ["one"]), problem);
    let twice = kernel().attribute("n", [1]).attribute("n", [2]);
    assert_no_kernel(with_number(), twice, r#"the values of "n" are given twice"#);
}

#[test]
fn registration_rejects_views_for_devices_without_host_access() {
    let kernel = || Kernel::new("copy").function(copies);
    let reached = [
        DeviceKind::Cpu,
        DeviceKind::CudaHost,
        DeviceKind::RocmHost,
        DeviceKind::CudaManaged,
    ];
    for kind in DeviceKind::ALL {
        let registry = Registry::new();
        registry.define(copy()).unwrap();
        let registered = registry.register(kernel().on(*kind));
        assert_eq!(registered.is_ok(), reached.contains(kind), "{kind:?}");
    }
    let problem = |name| {
        format!(
            "its function looks at the elements of {name:?}, which are on cuda; take it untyped"
        )
    };
    let on_cuda = kernel().on(DeviceKind::Cuda);
    assert_no_kernel(copy(), on_cuda, &problem("x"));
    let on_host = kernel().on(DeviceKind::Cuda).host_memory("x");
    assert_no_kernel(copy(), on_host, &problem("y"));
    let fill = |_: f32, _: UntypedMut<'_>| {};
    let of_host = Kernel::new("copy")
        .on(DeviceKind::Cuda)
        .host_memory("x")
        .function(fill);
    let registry = Registry::new();
    registry.define(copy()).unwrap();
    registry.register(of_host).unwrap();
}

#[test]
fn registration_rejects_kernels_without_device_arguments() {
    let untyped = |_: Untyped<'_>, _: UntypedMut<'_>| {};
    let kernel = Kernel::new("copy").on(DeviceKind::Cuda).function(untyped);
    assert_no_kernel(
        copy(),
        kernel.host_memory("x").host_memory("y"),
        "all its arguments are on the host, and nothing tells that it is for cuda",
    );
}
