//! Tests of definitions: names, refusals, arguments.

use super::{Definition, name};
use crate::dtype::DType;
use crate::kernel::{AttributeKind, Op, Registry};

#[test]
fn names_are_camel_case() {
    assert_eq!(name("rms_norm").unwrap(), "Dlbridge>RmsNorm");
    assert_eq!(name("image.blend2").unwrap(), "Dlbridge>ImageBlend2");
    for wrong in ["", "2d", "größe", "a-b", "_.", "a b"] {
        assert!(name(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn definitions_that_would_end_the_process_are_refused() {
    let registry = Registry::new();
    for (at, op) in [
        Op::new("a").input("X", DType::F32),
        Op::new("b").input("x", DType::F4_E2M1FN),
        Op::new("c").input("x", "T"),
        Op::new("d").input("name", DType::F32),
        Op::new("e")
            .input("n", DType::F32)
            .attribute("N_x-y", AttributeKind::Int, None),
    ]
    .into_iter()
    .enumerate()
    {
        let name = op.name().to_owned();
        if registry.define(op).is_err() {
            continue;
        }
        let op = registry.op(&name).unwrap();
        assert!(Definition::of(&op).is_err(), "{at}");
    }
}

#[test]
#[cfg(feature = "ops")]
fn definitions_have_all_arguments() {
    let definition = Definition::of(&Registry::global().op("axpy").unwrap()).unwrap();
    assert_eq!(definition.name, "Dlbridge>Axpy");
    assert_eq!(definition.outputs, ["new_y: T"]);
    let definition = Definition::of(&Registry::global().op("concat").unwrap()).unwrap();
    assert_eq!(definition.inputs.len(), 1);
    assert!(definition.inputs[0].contains(": N_"));
    for op in Registry::global().ops() {
        Definition::of(&op).unwrap();
    }
}
