//! Attributes: which values are taken for which kind, and what kernels, rules and factories see.

use crate::support::{assert_incompatible, assert_refused, op, registry};
use dlbridge::kernel::{
    Attribute, AttributeKind, ElementType, Kernel, KernelContext, Op, OpHandle, Reason,
    RegistrationError, ShapeContext, Untyped, UntypedMut,
};
use dlbridge::{DType, Element, Tensor, View, ViewMut};
use std::sync::mpsc::{Receiver, channel};

const KINDS: [AttributeKind; 8] = [
    AttributeKind::Bool,
    AttributeKind::Int,
    AttributeKind::Float,
    AttributeKind::Text,
    AttributeKind::DType,
    AttributeKind::Ints,
    AttributeKind::OptionalInts,
    AttributeKind::OptionalDType,
];

fn examples() -> [Attribute; 8] {
    [
        true.into(),
        3.into(),
        2.5.into(),
        "int8".into(),
        DType::F32.into(),
        vec![1, 2].into(),
        None::<Vec<i64>>.into(),
        None::<DType>.into(),
    ]
}

#[test]
fn attributes_convert_losslessly() {
    for (value, own) in examples().into_iter().zip(KINDS) {
        assert_eq!(value.kind(), own);
        for kind in KINDS {
            let expected = match (&value, kind) {
                _ if kind == own => Some(value.clone()),
                (Attribute::Int(3), AttributeKind::Float) => Some(3.0.into()),
                (Attribute::Int(3), AttributeKind::Ints) => Some(vec![3].into()),
                (Attribute::Int(3), AttributeKind::OptionalInts) => Some(Some(vec![3]).into()),
                (Attribute::Ints(ints), AttributeKind::OptionalInts) => {
                    Some(Some(ints.clone()).into())
                }
                (Attribute::Text(_), AttributeKind::DType) => Some(DType::I8.into()),
                (Attribute::Text(_), AttributeKind::OptionalDType) => Some(Some(DType::I8).into()),
                (Attribute::DType(_), AttributeKind::OptionalDType) => {
                    Some(Some(DType::F32).into())
                }
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
fn values_and_kinds_display_as_in_python() {
    let values: Vec<_> = examples().iter().map(ToString::to_string).collect();
    assert_eq!(
        values,
        [
            "True",
            "3",
            "2.5",
            "\"int8\"",
            "\"float32\"",
            "(1,2,)",
            "None",
            "None"
        ]
    );
    let kinds: Vec<_> = KINDS.iter().map(ToString::to_string).collect();
    assert_eq!(
        kinds,
        [
            "bool",
            "int",
            "float",
            "str",
            "dtype",
            "ints",
            "ints | None",
            "dtype | None"
        ]
    );
    assert_eq!(Attribute::from(1.0).to_string(), "1.0");
}

type Seen = (
    bool,
    i64,
    usize,
    f32,
    String,
    DType,
    Vec<i64>,
    Option<Vec<i64>>,
);

fn seen(question: &KernelContext<'_>) -> Result<Seen, dlbridge::kernel::Failure> {
    Ok((
        question.attribute("bool")?,
        question.attribute("int")?,
        question.attribute("int")?,
        question.attribute("float")?,
        question.attribute("text")?,
        question.attribute("dtype")?,
        question.attribute("ints")?,
        question.attribute("axes")?,
    ))
}

/// The rule reads them, too: the result has as many elements as `int` says.
fn shape(question: &ShapeContext<'_>) -> Result<Vec<Vec<usize>>, dlbridge::kernel::Failure> {
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
        .attribute(
            "axes",
            AttributeKind::OptionalInts,
            Some(None::<Vec<i64>>.into()),
        )
        .shapes(shape);
    let (tell, told_here) = channel();
    let tell = std::sync::Mutex::new(tell);
    let kernel = Kernel::new("told").factory(move |context: &KernelContext<'_>| {
        tell.lock().unwrap().send(seen(context)?)?;
        Ok(|_: UntypedMut<'_>| {})
    });
    (op(told, [kernel]), told_here)
}

#[test]
fn attributes_default_if_unset() {
    let (op, told) = telling();
    let y = op.call().make().unwrap();
    assert_eq!((y.shape(), y.dtype()), (&[7][..], DType::F64));
    let defaults = (false, 7, 7, 0.5, String::new(), DType::F64, vec![], None);
    assert_eq!(told.recv().unwrap(), defaults);
}

#[test]
fn attributes_reach_every_reader_converted() {
    let (op, told) = telling();
    let call = op
        .call()
        .attribute("dtype", "int16")
        .attribute("ints", 4)
        .attribute("axes", 5);
    let call = call
        .attribute("float", 2)
        .attribute("bool", true)
        .attribute("int", 3);
    let y = call.attribute("text", "a longer text").make().unwrap();
    assert_eq!((y.shape(), y.dtype()), (&[3][..], DType::I16));
    let seen = (
        true,
        3,
        3,
        2.0,
        "a longer text".into(),
        DType::I16,
        vec![4],
        Some(vec![5]),
    );
    assert_eq!(told.recv().unwrap(), seen);
}

#[test]
fn attributes_of_the_wrong_kind_are_rejected_by_every_reader() {
    let (op, _told) = telling();
    let text = "told: int can't be -1";
    assert_incompatible!(op.call().attribute("int", -1).make(), Value, text);
}

#[test]
fn calls_with_different_attributes_are_cached_apart() {
    let (op, told) = telling();
    let values: [(&str, Attribute); 12] = [
        ("text", "a".into()),
        ("text", "a\0".into()),
        ("text", "aaaaaaaa".into()),
        ("text", "aaaaaaaab".into()),
        ("ints", vec![0].into()),
        ("ints", vec![0, 0].into()),
        ("axes", Some(Vec::new()).into()),
        ("axes", Some(vec![0]).into()),
        ("axes", Some(vec![0, 0]).into()),
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
fn kernels_are_restricted_to_attribute_values() {
    let op = op(
        Op::new("power").input("x", "T").output("y", "T").attribute(
            "exponent",
            AttributeKind::Float,
            Some(1.0.into()),
        ),
        [1, 2].map(|exponent: i32| {
            let kernel = Kernel::new("power").attribute("exponent", [exponent]);
            kernel.function(
                move |x: dlbridge::kernel::Source<'_, f64>,
                      y: dlbridge::kernel::Target<'_, f64>| {
                    y.map(&x, |x| (0..exponent).map(|_| x).product());
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

/// `round(x: T, *, dtype) -> y: dtype`.
fn round() -> Op {
    Op::new("round")
        .input("x", "T")
        .output("y", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, None)
}

#[test]
fn result_dtype_set_by_attribute_distinguishes_kernels() {
    fn kernel<T: Element + From<u8>>(x: View<'_, f64>, mut y: ViewMut<'_, T>) {
        let pairs = y.iter_mut().zip(&x);
        pairs.for_each(|(y, x)| *y = T::from(*x as u8));
    }
    let registry = registry(
        round(),
        [
            Kernel::new("round").function(kernel::<i32>),
            Kernel::new("round")
                .attribute("dtype", [DType::U16])
                .function(kernel::<u16>),
        ],
    );
    let descriptions = registry.kernels().into_iter().map(|info| info.description);
    assert_eq!(
        descriptions.collect::<Vec<_>>(),
        [
            r#"round (cpu, T=float64, dtype="int32")"#,
            r#"round (cpu, T=float64, dtype="uint16")"#
        ]
    );
    let op = registry.op("round").unwrap();
    let x = Tensor::from([1.5, 2.5]);
    let rounded = |dtype: DType| op.call().input(&x).attribute("dtype", dtype).make();
    assert_eq!(
        rounded(DType::I32).unwrap().to_vec::<i32>().unwrap(),
        [1, 2]
    );
    assert_eq!(
        rounded(DType::U16).unwrap().to_vec::<u16>().unwrap(),
        [1, 2]
    );
    let (reason, text) = crate::support::refused(rounded(DType::F32));
    assert!(matches!(reason, Reason::NoKernel { .. }));
    assert!(
        text.contains(r#"dtype="int32"): "y" is of float32"#),
        "{text}"
    );

    let again = Kernel::new("round").function(kernel::<i32>);
    let error = registry.register(again).unwrap_err();
    assert!(matches!(error, RegistrationError::Ambiguous { .. }));
    let of_two = Kernel::new("round").attribute("dtype", [DType::U8, DType::I64]);
    let error = registry
        .register(of_two.function(kernel::<i64>))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("its dtype is int64, and something else"),
        "{error}"
    );
}

#[test]
fn rules_receive_input_dtypes() {
    let small = Op::new("small").input("x", "T").output("y", "T");
    let small = small.shapes(|question| match question.dtype("x").bits() {
        8 => Ok(vec![question.shape("x").to_vec()]),
        bits => Err(format!("{bits} bits are too many").into()),
    });
    let op = op(
        small,
        [Kernel::new("small").function(|_: Untyped<'_>, _: UntypedMut<'_>| {})],
    );
    assert_eq!(
        op.call().input(&Tensor::from([1_u8])).make().unwrap().len(),
        1
    );
    assert_refused!(
        op.call().input(&Tensor::from([1_u16])).make(),
        Reason::Invalid(_),
        "small: 16 bits are too many"
    );
}
