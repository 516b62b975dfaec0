//! What can be registered, and what is refused.

use crate::support::{copies, copy};
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{
    AttributeKind, ElementType, Kernel, Op, RegistrationError, Registry, Source, Target, Untyped,
    UntypedMut,
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
fn names_are_checked() {
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
fn definitions_make_sense() {
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
fn an_op_is_defined_once_or_in_the_same_way() {
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
    let text = format!("the kernel is no kernel of op {name:?}: {problem}");
    assert_eq!(error.to_string(), text);
    assert!(matches!(error, RegistrationError::BadKernel { .. }));
    assert!(registry.kernels().is_empty());
}

#[test]
fn a_kernel_is_of_an_op_that_there_is() {
    let error = Registry::new()
        .register(Kernel::of("copy").name("mine").function(copies))
        .unwrap_err();
    let (op, kernel) = ("copy".into(), "mine".into());
    assert_eq!(error, RegistrationError::NoSuchOp { op, kernel });
    assert_eq!(
        error.to_string(),
        r#"there is no op "copy" for the kernel mine to be of"#
    );
}

#[test]
fn a_function_fits_its_op() {
    let function = |_: View<'_, f32>| {};
    assert_no_kernel(copy(), Kernel::of("copy"), "it has no function");
    assert_no_kernel(
        copy(),
        Kernel::of("copy").function(function),
        "its function has 1 arguments, and copy(x: T) -> y: T has 2",
    );
    let only_reads = |_: View<'_, f32>, _: View<'_, f32>| {};
    let problem = r#"its function only reads "y""#;
    assert_no_kernel(copy(), Kernel::of("copy").function(only_reads), problem);
    let writes = |_: ViewMut<'_, f32>, _: ViewMut<'_, f32>| {};
    assert_no_kernel(
        copy(),
        Kernel::of("copy").function(writes),
        r#"its function writes "x""#,
    );
    let converts = |_: View<'_, f32>, _: ViewMut<'_, f64>| {};
    let problem = "its T is float64, and something else";
    assert_no_kernel(copy(), Kernel::of("copy").function(converts), problem);
    let of_bytes = Op::new("f").input("x", DType::U8);
    let problem = r#"its "x" is float32, and not uint8"#;
    assert_no_kernel(of_bytes, Kernel::of("f").function(function), problem);
}

#[test]
fn what_a_kernel_names_is_there_and_named_once() {
    let kernel = || Kernel::of("copy").function(copies);
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
fn functions_that_look_at_elements_are_for_devices_whose_memory_the_processor_reaches() {
    let kernel = || Kernel::of("copy").function(copies);
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
    let of_host = Kernel::of("copy")
        .on(DeviceKind::Cuda)
        .host_memory("x")
        .function(fill);
    let registry = Registry::new();
    registry.define(copy()).unwrap();
    registry.register(of_host).unwrap();
}

#[test]
fn something_tells_that_a_call_is_for_a_device() {
    let untyped = |_: Untyped<'_>, _: UntypedMut<'_>| {};
    let kernel = Kernel::of("copy").on(DeviceKind::Cuda).function(untyped);
    assert_no_kernel(
        copy(),
        kernel.host_memory("x").host_memory("y"),
        "all its arguments are on the host, and nothing tells that it is for cuda",
    );
}

fn may_both_be(one: Kernel, other: Kernel) -> bool {
    let registry = Registry::new();
    let op = copy().attribute("n", AttributeKind::Int, Some(0.into()));
    registry.define(op).unwrap();
    registry.register(one).unwrap();
    let registered = registry.register(other);
    assert_eq!(
        registry.kernels().len(),
        1 + usize::from(registered.is_ok())
    );
    registered.is_ok()
}

#[test]
fn kernels_that_nothing_tells_apart_are_not_both_registered() {
    let kernel = || Kernel::of("copy").function(copies);
    let untyped = || Kernel::of("copy").function(|_: Untyped<'_>, _: UntypedMut<'_>| {});
    assert!(!may_both_be(kernel(), kernel()));
    assert!(!may_both_be(kernel().name("a"), kernel().name("b")));
    assert!(may_both_be(kernel(), kernel().label("other")));
    assert!(may_both_be(kernel(), kernel().priority(-1)));
    assert!(may_both_be(kernel(), kernel().on(DeviceKind::CudaHost)));
    assert!(may_both_be(kernel(), untyped()));
    assert!(may_both_be(kernel(), kernel().attribute("n", [1])));

    // Values that have none in common, and such as have.
    let with = |values: &[i64]| kernel().attribute("n", values.iter().copied());
    assert!(may_both_be(with(&[1, 2]), with(&[3])));
    assert!(!may_both_be(with(&[1, 2]), with(&[2, 3])));
    let of = |types: &[DType]| untyped().types("T", types);
    assert!(may_both_be(
        of(&[DType::F32, DType::F64]),
        of(&[DType::I32])
    ));
    assert!(!may_both_be(
        of(&[DType::F32, DType::F64]),
        of(&[DType::F64])
    ));

    let slices = || Kernel::of("copy").function(|_: &[f32], _: View2<'_>| {});
    let other_slices = || Kernel::of("copy").function(|_: View<'_, f32>, _: &mut [f32]| {});
    type View2<'a> = ViewMut<'a, f32>;
    assert!(may_both_be(kernel(), slices()));
    // One asks for one thing, one for another: where both have it, nothing decides.
    assert!(!may_both_be(slices(), other_slices()));
}

#[test]
fn what_is_ambiguous_is_said_of_both() {
    let registry = Registry::new();
    registry.define(copy()).unwrap();
    let kernel = |name| Kernel::of("copy").name(name).function(copies);
    registry.register(kernel("one")).unwrap();
    let error = registry.register(kernel("other")).unwrap_err();
    assert!(matches!(error, RegistrationError::Ambiguous { .. }));
    assert_eq!(
        error.to_string(),
        r#"copy other (cpu, T=float32) matches calls of op "copy" as well as copy one (cpu, T=float32) does; give one of them a priority, a label, or other constraints"#
    );
}

#[test]
fn host_memory_tells_kernels_apart_unless_both_reach_it() {
    let kernel = |kind| {
        Kernel::of("copy")
            .on(kind)
            .function(|_: Untyped<'_>, _: UntypedMut<'_>| {})
    };
    let may_both_be = |kind| may_both_be(kernel(kind), kernel(kind).host_memory("x"));
    assert!(may_both_be(DeviceKind::Metal));
    assert!(may_both_be(DeviceKind::Rocm));
    // Managed memory is the host's and the device's.
    assert!(!may_both_be(DeviceKind::Cuda));
    assert!(!may_both_be(DeviceKind::Cpu));
}

#[test]
fn kernels_are_listed_with_what_they_ask_for() {
    let registry = Registry::new();
    let op = Op::new("scale")
        .doc("Every element times a factor.")
        .input("factor", "F")
        .input("x", "T")
        .output("out", "T")
        .attribute("mode", AttributeKind::Text, Some("fast".into()));
    registry.define(op).unwrap();
    let kernel = Kernel::of("scale")
        .name("mine")
        .types("F", &[DType::F16, DType::F32])
        .attribute("mode", ["fast", "slow"])
        .label("test")
        .priority(3)
        .function(|_: Untyped<'_>, _: dlbridge::kernel::Ranked<&[f32], 2>, _: Target<'_, f32>| {});
    registry.register(kernel).unwrap();
    let infos = registry.kernels();
    let info = &infos[0];
    assert_eq!(
        info.description,
        r#"scale mine (cpu, F=float16|float32, T=float32, x: row-major rank 2, mode="fast"|"slow", label "test", priority 3)"#
    );
    assert_eq!(
        (&*info.op, &*info.label, info.priority),
        ("scale", "test", 3)
    );
    assert_eq!((info.device, info.origin), (DeviceKind::Cpu, ""));
    let types = [("F", vec![DType::F16, DType::F32]), ("T", vec![DType::F32])];
    let types = types.map(|(name, types)| (name.to_owned(), types));
    assert_eq!(info.types, types);

    let scale = registry.op("scale").unwrap();
    assert_eq!(
        scale.definition().documentation(),
        "Every element times a factor."
    );
    assert_eq!(
        scale.definition().signature(),
        r#"scale(factor: F, x: T, *, mode: str = "fast") -> out: T"#
    );
    assert_eq!(
        format!("{registry:?}"),
        format!("[Op({})]", scale.definition())
    );
}

#[test]
fn a_new_registry_is_empty_and_ops_can_be_left_out() {
    assert!(Registry::new().ops().is_empty());
    assert!(Registry::new().op("add").is_err());
    let (some, refused) = Registry::collected(|name| name == "add" || name == "sum");
    assert_eq!(refused, []);
    let names: Vec<_> = some.ops().iter().map(|op| op.name().to_owned()).collect();
    assert_eq!(names, ["add", "sum"]);
    assert!(
        some.kernels()
            .iter()
            .all(|kernel| ["add", "sum"].contains(&&*kernel.op))
    );
    let all: Vec<_> = Registry::global()
        .ops()
        .iter()
        .map(|op| op.name().to_owned())
        .collect();
    assert_eq!(all, ["add", "axpy", "matmul", "sum"]);
    // What is registered with the one is not with the other.
    some.register(
        Kernel::of("add")
            .label("mine")
            .function(|_: Source<'_, f32>, _: Source<'_, f32>, _: Target<'_, f32>| {}),
    )
    .unwrap();
    let has_mine = |registry: &Registry| registry.kernels().iter().any(|k| k.label == "mine");
    assert!(has_mine(&some) && !has_mine(Registry::global()));
}
