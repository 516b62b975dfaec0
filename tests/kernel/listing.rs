//! Lists of kernels and ops, and registries without some.

use dlbridge::DType;
use dlbridge::device::DeviceKind;
use dlbridge::kernel::{AttributeKind, Kernel, Op, Ranked, Registry, Source, Target, Untyped};

#[test]
fn listing_shows_the_kernels_requirements() {
    let registry = Registry::new();
    let op = Op::new("scale")
        .doc("Every element times a factor.")
        .input("factor", "F")
        .input("x", "T")
        .output("out", "T")
        .attribute("mode", AttributeKind::Text, Some("fast".into()));
    registry.define(op).unwrap();
    let kernel = Kernel::new("scale")
        .name("mine")
        .types("F", &[DType::F16, DType::F32])
        .attribute("mode", ["fast", "slow"])
        .label("test")
        .priority(3)
        .function(|_: Untyped<'_>, _: Ranked<&[f32], 2>, _: Target<'_, f32>| {});
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
fn new_registry_is_empty_and_builtin_ops_are_optional() {
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
    let ours = "abs add argmax argmin axpy broadcast_like cast concat copy dequantize divide \
        equal exp expand_dims fma gelu greater greater_equal image_to_tensor index_add \
        layer_norm less less_equal log log_softmax matmul matrix_transpose max maximum \
        mean mean_backward min minimum multiply negative not_equal nv12_to_rgb quantize \
        relu rms_norm rms_norm_backward rms_norm_factor rsqrt sigmoid silu softmax sqrt std subtract sum \
        sum_backward sum_to_like take tanh topk var \
        where";
    assert_eq!(all, ours.split(' ').collect::<Vec<_>>());
    // What is registered with the one is not with the other.
    some.register(
        Kernel::new("add")
            .label("mine")
            .function(|_: Source<'_, f32>, _: Source<'_, f32>, _: Target<'_, f32>| {}),
    )
    .unwrap();
    let has_mine = |registry: &Registry| registry.kernels().iter().any(|k| k.label == "mine");
    assert!(has_mine(&some) && !has_mine(Registry::global()));
}
