//! Tests of definitions: names, refusals, arguments.

use super::{Definition, TABLE, is_attribute_name, name};
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
fn outputs_with_new_values_have_names_of_their_own() {
    let registry = Registry::new();
    let dtype = DType::F32;
    for op in [
        Op::new("a").input("new_y", dtype).in_out("y", dtype),
        Op::new("b").in_out("y", dtype).input("new_y", dtype),
        Op::new("c").in_out("y", dtype).output("new_y", dtype),
        Op::new("d")
            .in_out("y", dtype)
            .attribute("new_y", AttributeKind::Int, None),
    ] {
        let name = op.name().to_owned();
        registry.define(op).unwrap();
        let error = Definition::of(&registry.op(&name).unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("two things are called \"new_y\""),
            "{error}"
        );
    }
}

#[test]
fn attributes_with_names_of_dtypes_are_refused() {
    let registry = Registry::new();
    let own = "half string resource variant float float16 float32 float64 double int4 bool qint8";
    let own = own.split(' ').map(str::to_owned);
    let names = TABLE
        .iter()
        .map(|(_, name, _)| name[3..].to_ascii_lowercase());
    for (at, name) in own.chain(names).enumerate() {
        for name in [format!("{name}_ref"), format!("{name}_ref_ref"), name] {
            let op = format!("a{at}_{name}");
            let kind = AttributeKind::Int;
            let definition = Op::new(&op)
                .input("x", DType::F32)
                .attribute(&name, kind, None);
            registry.define(definition).unwrap();
            let error = Definition::of(&registry.op(&op).unwrap()).unwrap_err();
            let wanted = format!("no attribute is called {name:?}");
            assert!(error.to_string().contains(&wanted), "{error}");
            assert!(!is_attribute_name(&name));
        }
    }
    for name in ["half2", "ref", "float_reference", "Half", "dtype", "T"] {
        assert!(is_attribute_name(name), "{name}");
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
