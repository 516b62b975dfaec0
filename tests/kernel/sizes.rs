//! Rules of sizes and gradients: what is parsed, what is refused, and shapes for known and unknown
//! sizes.

use dlbridge::DType;
use dlbridge::kernel::{Attribute, AttributeKind, GradientAttribute, GradientValue, Op, Registry};

/// An op of two inputs, of which the shapes are ruled.
fn two(rule: &str) -> Op {
    let op = Op::new("two")
        .input("x", "T")
        .input("y", "T")
        .output("z", "T");
    op.attribute("axis", AttributeKind::Int, Some(0_i64.into()))
        .attribute("count", AttributeKind::Int, Some(2_i64.into()))
        .attribute("name", AttributeKind::Text, Some("".into()))
        .attribute(
            "axes",
            AttributeKind::OptionalInts,
            Some(Attribute::OptionalInts(None)),
        )
        .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
        .sizes(rule)
}

fn problem(op: Op) -> String {
    Registry::new().define(op).unwrap_err().to_string()
}

/// The shape of the result, or the error.
fn shape(
    rule: &str,
    given: &[(&str, Attribute)],
    x: &[usize],
    y: &[usize],
) -> Result<Vec<usize>, String> {
    let registry = Registry::new();
    registry.define(two(rule)).unwrap();
    let op = registry.op("two").unwrap();
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    let attributes = op.attributes(given).unwrap();
    let results = op.infer(&[vec![(x, DType::F32)], vec![(y, DType::F32)]], &attributes);
    results
        .map(|mut results| results.remove(0).0)
        .map_err(|error| error.to_string())
}

#[test]
fn several_tensors_for_an_input_of_one_are_refused() {
    let registry = Registry::new();
    registry.define(two("x[n, k], y[k, m] -> z[n, m]")).unwrap();
    let op = registry.op("two").unwrap();
    let attributes = op.attributes([]).unwrap();
    let one = (&[2_usize, 2][..], DType::F32);
    for inputs in [[vec![one, one], vec![one]], [vec![one], vec![one, one]]] {
        let error = op.infer(&inputs, &attributes).unwrap_err();
        assert_eq!(error.to_string(), "two: takes 1 tensor but 2 were given");
    }
}

#[test]
fn letters_numbers_and_expressions() {
    let product = |x, y| shape("x[n, k], y[k, m] -> z[n, m]", &[], x, y);
    assert_eq!(product(&[2, 3], &[3, 4]), Ok(vec![2, 4]));
    assert_eq!(
        product(&[2, 3], &[4, 4]),
        Err("two: expected shape [k, m] with k = 3 for y, got [4, 4]".into())
    );
    assert_eq!(
        product(&[2], &[4, 4]),
        Err("two: expected shape [n, k] for x, got [2]".into())
    );
    let joined = "x[n], y[m] -> z[n + m, 2 * (n - 1), m / 2, count, 7]";
    assert_eq!(shape(joined, &[], &[3], &[5]), Ok(vec![8, 4, 2, 2, 7]));
    assert_eq!(
        shape(joined, &[], &[0], &[5]),
        Err("two: there is no size 0 - 1".into())
    );
    let half = "x[..., h, w], y[..., h / 2, 2] -> z[..., w]";
    assert_eq!(shape(half, &[], &[9, 4, 3], &[2, 2]), Ok(vec![9, 3]));
    assert_eq!(
        shape(half, &[], &[4, 3], &[3, 2]),
        Err("two: expected shape [..., (h / 2), 2] with (h / 2) = 2 for y, got [3, 2]".into())
    );
}

#[test]
fn batches_spreads_axes_and_reductions() {
    let batch = "x[..., n], y[...] -> z[..., n]";
    assert_eq!(shape(batch, &[], &[5, 1, 3], &[4]), Ok(vec![5, 4, 3]));
    assert_eq!(
        shape(batch, &[], &[5, 2, 3], &[4]),
        Err("two: expected a shape that broadcasts with [5, 2] for y, got [4]".into())
    );
    let spread = "x[s..., n], y[s...] -> z[s...]";
    assert_eq!(shape(spread, &[], &[5, 1, 3], &[5, 1]), Ok(vec![5, 1]));
    assert_eq!(
        shape(spread, &[], &[5, 1, 3], &[5, 4]),
        Err("two: expected shape [s...] with s = [5, 1] for y, got [5, 4]".into())
    );
    let taken = "x[p..., n@axis, q...], y[i...] -> z[p..., i..., q...]";
    for (axis, wanted) in [
        (0, vec![8, 9, 3, 4]),
        (1, vec![2, 8, 9, 4]),
        (-1, vec![2, 3, 8, 9]),
    ] {
        let given = [("axis", Attribute::Int(axis))];
        assert_eq!(shape(taken, &given, &[2, 3, 4], &[8, 9]), Ok(wanted));
    }
    assert_eq!(
        shape(taken, &[("axis", 3_i64.into())], &[2, 3, 4], &[8]),
        Err("two: axis 3 is out of bounds for a tensor of rank 3".into())
    );
    let reduced = "x[s...] -> z[reduce(s, axes, keepdims)]";
    let axes = |axes: &[i64]| ("axes", Attribute::OptionalInts(Some(axes.to_vec())));
    assert_eq!(shape(reduced, &[], &[2, 3], &[]), Ok(vec![]));
    assert_eq!(shape(reduced, &[axes(&[])], &[2, 3], &[]), Ok(vec![2, 3]));
    assert_eq!(shape(reduced, &[axes(&[-1])], &[2, 3], &[]), Ok(vec![2]));
    let keeps = ("keepdims", Attribute::Bool(true));
    assert_eq!(
        shape(reduced, &[axes(&[0]), keeps], &[2, 3], &[]),
        Ok(vec![1, 3])
    );
    assert_eq!(
        shape(reduced, &[axes(&[0, -2])], &[2, 3], &[]),
        Err("two: axis -2 is given twice".into())
    );
}

#[test]
fn an_input_may_be_a_reduced_shape() {
    let rule = "x[reduce(s, axes, keepdims)], y[s...] -> z[s...]";
    let both = [
        ("axes", Attribute::OptionalInts(Some(vec![-1]))),
        ("keepdims", Attribute::Bool(true)),
    ];
    for (given, reduced, wrong) in [
        (&both[..0], &[][..], &[1][..]),
        (&both[..1], &[2], &[3]),
        (&both, &[2, 1], &[2]),
    ] {
        assert_eq!(shape(rule, given, reduced, &[2, 3]), Ok(vec![2, 3]));
        assert_eq!(
            shape(rule, given, wrong, &[2, 3]),
            Err(format!(
                "two: expected shape {reduced:?} for x, got {wrong:?}"
            ))
        );
    }
}

#[test]
fn the_first_alternative_of_these_ranks_counts() {
    let rule = "x[k], y[k] -> z[] | x[..., i, k], y[k] -> z[..., i]";
    assert_eq!(shape(rule, &[], &[3], &[3]), Ok(vec![]));
    assert_eq!(shape(rule, &[], &[4, 5, 3], &[3]), Ok(vec![4, 5]));
    assert!(shape(rule, &[], &[3], &[4, 3]).is_err());
}

#[test]
fn rules_without_sense_are_refused() {
    for (rule, why) in [
        ("x[n] -> z[m]", "no required input says what m is"),
        ("x[n] -> z[...]", "no required input says what ... is"),
        ("x[n]", "it says nothing of output \"z\""),
        ("w[n] -> z[n]", "there is no input \"w\""),
        ("x[n], x[n] -> z[n]", "\"x\" comes twice"),
        (
            "x[n] -> z[n], w[n]",
            "there is no output \"w\", or it comes twice",
        ),
        ("x[n -> z[n]", "expected \"]\", got \"->\""),
        ("x[n] -> z[n]]", "expected the end, got \"]\""),
        ("x[n$] -> z[n]", "unexpected '$'"),
        (
            "x[..., ...] -> z[...]",
            "\"x\" has two spreads side by side",
        ),
        (
            "x[n@axis, q...] -> z[n]",
            "\"x\" has no spread on one side of its axis",
        ),
        (
            "x[p..., n@name, q...] -> z[n]",
            "attribute \"name\" is of kind str, and not Int",
        ),
        (
            "x[p..., n@rows, q...] -> z[n]",
            "there is no attribute \"rows\"",
        ),
        (
            "x[name] -> z[name]",
            "attribute \"name\" is of kind str, which is no size",
        ),
        (
            "x[s...] -> z[reduce(s, keepdims)]",
            "attribute \"keepdims\" is of kind bool, and not",
        ),
        (
            "x[n, reduce(s, axes)], y[s...] -> z[]",
            "reduce() is all of an input's shape, and part of \"x\"",
        ),
        (
            "x[reduce(s, axes)] -> z[]",
            "no required input says what s... is",
        ),
        (
            "x[n] -> z[sum(n)]",
            "sum(n) is for sizes of a variadic input",
        ),
        ("x[n] -> z[1.5]", "expected a whole number as a size"),
    ] {
        let problem = problem(two(rule));
        assert!(problem.contains(why), "{rule}: {problem}");
        assert!(problem.contains(&format!("sizes {rule:?}")), "{problem}");
    }
    let op = Op::new("two").input("x", "T").output("z", "T").broadcasts();
    assert!(problem(op.sizes("x[n] -> z[n]")).contains("it broadcasts"));
}

#[test]
fn unknown_sizes_stay_unknown() {
    let registry = Registry::new();
    registry
        .define(two("x[..., n, k], y[..., k, m] -> z[..., n, m]"))
        .unwrap();
    let op = registry.op("two").unwrap();
    let attributes = op.attributes([]).unwrap();
    let shapes = |x: Option<Vec<Option<usize>>>, y: Option<Vec<Option<usize>>>| {
        let shapes = op
            .definition()
            .partial_shapes(&[vec![x], vec![y]], &attributes);
        shapes
            .unwrap()
            .map(|mut shapes| shapes.remove(0))
            .map_err(|error| error.to_string())
    };
    let (some, none) = (Some, None);
    assert_eq!(
        shapes(
            Some(vec![none, some(2), none]),
            Some(vec![some(1), none, some(4)])
        ),
        Ok(Some(vec![none, some(2), some(4)]))
    );
    assert_eq!(shapes(None, Some(vec![some(3), some(4)])), Ok(None));
    assert!(shapes(Some(vec![none, some(2)]), Some(vec![some(3), none])).is_err());
}

#[test]
fn gradients_are_parsed() {
    let op = two("x[s...], y[s...] -> z[s...]")
        .gradient(
            "x",
            "other.scale(multiply(dz, y), to=dtype(x), by=count, rate=-0.5, mode=\"a b\")",
        )
        .gradient("y", "0");
    let registry = Registry::new();
    registry.define(op).unwrap();
    let op = registry.op("two").unwrap();
    let gradients = op.definition().gradients();
    assert_eq!(gradients[1].values, [GradientValue::Zero]);
    assert_eq!(gradients[0].ops(), ["other.scale", "multiply"]);
    let GradientValue::Call {
        inputs, attributes, ..
    } = &gradients[0].values[0]
    else {
        panic!("{gradients:?}");
    };
    let GradientValue::Call { inputs, .. } = &inputs[0] else {
        panic!("{inputs:?}");
    };
    assert_eq!(
        *inputs,
        [GradientValue::OutputGradient(2), GradientValue::Argument(1)]
    );
    assert_eq!(
        *attributes,
        [
            ("to".to_owned(), GradientAttribute::DTypeOf(0)),
            ("by".to_owned(), GradientAttribute::Same("count".to_owned())),
            ("rate".to_owned(), GradientAttribute::Is((-0.5).into())),
            ("mode".to_owned(), GradientAttribute::Is("a b".into())),
        ]
    );
}

fn scaled(gradient: &str) -> Op {
    let op = Op::new("scaled").input("x", "T").optional_input("w", "T");
    op.output("z", "T").gradient("x", gradient)
}

#[test]
fn gradients_may_depend_on_optional_inputs() {
    let registry = Registry::new();
    let op = scaled("multiply(dz if w else copy(dz), w) if w else dz");
    registry.define(op).unwrap();
    let op = registry.op("scaled").unwrap();
    let gradient = &op.definition().gradients()[0];
    assert_eq!(gradient.ops(), ["multiply", "copy"]);
    let choice = |given, otherwise| GradientValue::Choice {
        input: 1,
        given: Box::new(given),
        otherwise: Box::new(otherwise),
    };
    let call = |op: &str, inputs| GradientValue::Call {
        op: op.to_owned(),
        inputs,
        attributes: Vec::new(),
    };
    let dz = || GradientValue::OutputGradient(2);
    let inner = choice(dz(), call("copy", vec![dz()]));
    let product = call("multiply", vec![inner, GradientValue::Argument(1)]);
    assert_eq!(gradient.values, [choice(product, dz())]);
    for (gradient, why) in [
        ("dz if x else 0", "there is no optional input \"x\""),
        ("dz if y else 0", "there is no optional input \"y\""),
        ("dz if w", "expected else, got the end"),
        ("dz if 2", "expected an optional input, got \"2\""),
    ] {
        let problem = problem(scaled(gradient));
        assert!(problem.contains(why), "{gradient}: {problem}");
    }
}

#[test]
fn gradients_without_sense_are_refused() {
    for (input, gradient, why) in [
        ("w", "dz", "there is no input \"w\""),
        ("z", "dz", "there is no input \"z\""),
        (
            "x",
            "dx",
            "there is no input or output \"dx\", and no output's gradient",
        ),
        ("x", "f(dz", "expected \",\", got the end"),
        ("x", "f(dz) g", "expected the end, got \"g\""),
        ("x", "f(dz, by=w)", "there is no attribute \"w\""),
        (
            "x",
            "f(by=count, dz)",
            "expected an attribute, as after other attributes, got \"dz\"",
        ),
        (
            "x",
            "f(dz, to=dtype(w))",
            "there is no input or output \"w\"",
        ),
        ("x", "f(dz, by=\"a)", "a quoted text has no end"),
        (
            "x",
            "dz | dz | dz",
            "expected 1 or 2 alternatives, as sizes has, got 3",
        ),
        ("x", "1", "expected a tensor, a call, or 0, got \"1\""),
    ] {
        let op = two("x[n], y[n] -> z[n] | x[n, m], y[n] -> z[n, m]");
        let problem = problem(op.gradient(input, gradient));
        assert!(problem.contains(why), "{gradient}: {problem}");
    }
    let op = two("x[n] -> z[n]").gradient("x", "dz").gradient("x", "dz");
    assert!(problem(op).contains("\"x\" has two gradients"));
}
