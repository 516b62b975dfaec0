//! Attributes: which values are taken for which kind, and what kernels, rules and factories see.

use crate::support::{assert_refused, op};
use dlbridge::kernel::{
    Attribute, AttributeKind, Construction, Kernel, Op, OpHandle, Question, Reason, UntypedMut,
};
use dlbridge::{DType, Tensor};
use std::sync::mpsc::{Receiver, channel};

const KINDS: [AttributeKind; 6] = [
    AttributeKind::Bool,
    AttributeKind::Int,
    AttributeKind::Float,
    AttributeKind::Text,
    AttributeKind::DType,
    AttributeKind::Ints,
];

fn examples() -> [Attribute; 6] {
    [
        true.into(),
        3.into(),
        2.5.into(),
        "int8".into(),
        DType::F32.into(),
        vec![1, 2].into(),
    ]
}

#[test]
fn values_are_converted_where_nothing_is_lost() {
    for (value, own) in examples().into_iter().zip(KINDS) {
        assert_eq!(value.kind(), own);
        for kind in KINDS {
            let expected = match (&value, kind) {
                _ if kind == own => Some(value.clone()),
                (Attribute::Int(3), AttributeKind::Float) => Some(3.0.into()),
                (Attribute::Int(3), AttributeKind::Ints) => Some(vec![3].into()),
                (Attribute::Text(_), AttributeKind::DType) => Some(DType::I8.into()),
                _ => None,
            };
            assert_eq!(value.converted(kind), expected, "{value} as {kind}");
        }
    }
    assert_eq!(
        Attribute::from("no type").converted(AttributeKind::DType),
        None
    );
    let exact = |int: i64| Attribute::from(int).converted(AttributeKind::Float);
    assert_eq!(exact(1 << 53), Some(((1_i64 << 53) as f64).into()));
    assert_eq!(exact((1 << 53) + 1), None);
    assert_eq!(exact(i64::MAX), None);
    assert_eq!(exact(-(1 << 62)), Some((-((1_i64 << 62) as f64)).into()));
}

#[test]
fn values_and_kinds_are_written_as_in_python() {
    let values: Vec<_> = examples().iter().map(ToString::to_string).collect();
    assert_eq!(
        values,
        ["True", "3", "2.5", "\"int8\"", "\"float32\"", "(1,2,)"]
    );
    let kinds: Vec<_> = KINDS.iter().map(ToString::to_string).collect();
    assert_eq!(kinds, ["bool", "int", "float", "str", "dtype", "ints"]);
    assert_eq!(Attribute::from(1.0).to_string(), "1.0");
}

type Seen = (bool, i64, usize, f32, String, DType, Vec<i64>);

fn seen(question: &Construction<'_>) -> Result<Seen, dlbridge::kernel::Failure> {
    Ok((
        question.attribute("bool")?,
        question.attribute("int")?,
        question.attribute("int")?,
        question.attribute("float")?,
        question.attribute("text")?,
        question.attribute("dtype")?,
        question.attribute("ints")?,
    ))
}

/// The rule reads them, too: the result has as many elements as `int` says.
fn shape(question: &Question<'_>) -> Result<Vec<Vec<usize>>, dlbridge::kernel::Failure> {
    Ok(vec![vec![question.attribute("int")?]])
}

/// An op of which the factory tells what it saw.
fn telling() -> (OpHandle, Receiver<Seen>) {
    let told = Op::new("told")
        .output(
            "y",
            dlbridge::kernel::ElementType::Attribute("dtype".into()),
        )
        .attribute("bool", AttributeKind::Bool, Some(false.into()))
        .attribute("int", AttributeKind::Int, Some(7.into()))
        .attribute("float", AttributeKind::Float, Some(0.5.into()))
        .attribute("text", AttributeKind::Text, Some("".into()))
        .attribute("dtype", AttributeKind::DType, Some(DType::F64.into()))
        .attribute("ints", AttributeKind::Ints, Some(Vec::new().into()))
        .shapes(shape);
    let (tell, told_here) = channel();
    let tell = std::sync::Mutex::new(tell);
    let kernel = Kernel::of("told").factory(move |context: &Construction<'_>| {
        tell.lock().unwrap().send(seen(context)?)?;
        Ok(|_: UntypedMut<'_>| {})
    });
    (op(told, [kernel]), told_here)
}

#[test]
fn defaults_are_taken_where_nothing_is_said() {
    let (op, told) = telling();
    let y = op.call().make().unwrap();
    assert_eq!((y.shape(), y.dtype()), (&[7][..], DType::F64));
    let defaults = (false, 7, 7, 0.5, String::new(), DType::F64, vec![]);
    assert_eq!(told.recv().unwrap(), defaults);
}

#[test]
fn what_is_said_is_converted_and_seen_by_all() {
    let (op, told) = telling();
    let call = op.call().attribute("dtype", "int16").attribute("ints", 4);
    let call = call
        .attribute("float", 2)
        .attribute("bool", true)
        .attribute("int", 3);
    let y = call.attribute("text", "a longer text").make().unwrap();
    assert_eq!((y.shape(), y.dtype()), (&[3][..], DType::I16));
    let seen = (true, 3, 3, 2.0, "a longer text".into(), DType::I16, vec![4]);
    assert_eq!(told.recv().unwrap(), seen);
}

#[test]
fn values_that_do_not_fit_are_refused_by_whoever_reads_them() {
    let (op, _told) = telling();
    let text = "told: int can't be -1";
    assert_refused!(
        op.call().attribute("int", -1).make(),
        Reason::Invalid(_),
        text
    );
}

#[test]
fn different_values_are_different_calls() {
    let (op, told) = telling();
    let values: [(&str, Attribute); 9] = [
        ("text", "a".into()),
        ("text", "a\0".into()),
        ("text", "aaaaaaaa".into()),
        ("text", "aaaaaaaab".into()),
        ("ints", vec![0].into()),
        ("ints", vec![0, 0].into()),
        ("float", 0.0.into()),
        ("float", (-0.0).into()),
        ("bool", true.into()),
    ];
    for (name, value) in &values {
        op.call().attribute(name, value.clone()).make().unwrap();
    }
    assert_eq!(told.try_iter().count(), values.len());
    for (name, value) in &values {
        op.call().attribute(name, value.clone()).make().unwrap();
    }
    assert_eq!(told.try_iter().count(), 0);
}

#[test]
fn kernels_are_for_some_values() {
    let op = op(
        Op::new("power").input("x", "T").output("y", "T").attribute(
            "exponent",
            AttributeKind::Float,
            Some(1.0.into()),
        ),
        [1.0, 2.0].map(|exponent: f64| {
            let kernel = Kernel::of("power").attribute("exponent", [exponent as i64]);
            kernel.function(
                move |x: dlbridge::kernel::Source<'_, f64>,
                      y: dlbridge::kernel::Target<'_, f64>| {
                    y.map(&x, |x| x.powf(exponent));
                },
            )
        }),
    );
    let x = Tensor::from([3.0]);
    assert_eq!(
        op.call().input(&x).make().unwrap().item::<f64>().unwrap(),
        3.0
    );
    let squared = op.call().input(&x).attribute("exponent", 2).make().unwrap();
    assert_eq!(squared.item::<f64>().unwrap(), 9.0);
    let called = op.call().input(&x).attribute("exponent", 3).make();
    let (reason, _) = crate::support::refused(called);
    assert!(matches!(reason, Reason::NoKernel { .. }));
}
