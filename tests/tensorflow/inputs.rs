//! Inputs that an op doesn't take so: refused before TensorFlow, which reads past the end of its
//! definition or of a list, gets them. And lists, of which attributes follow.

use crate::fixture::{Check, Fixture, numbers};
use dlbridge::Tensor;
use dlbridge::tensorflow::{DataType, EagerTensor, OpAttribute, Operation, TensorFlowError};

pub(crate) const CHECKS: &[Check] = &[
    ("inputs_beyond_those_of_the_op_are_refused", beyond),
    ("list_and_single_tensor_are_told_apart", kinds),
    ("missing_inputs_are_named", missing),
    ("empty_lists_are_taken_where_the_op_takes_them", empty),
    ("lists_of_several_types_are_taken_anywhere", mixed),
    ("types_that_differ_within_a_list_are_refused", differing),
    ("attributes_may_be_set_before_and_after_inputs", attributes),
    ("handles_of_resources_and_variants_are_inputs", handles),
    ("number_of_results_is_bounded", results),
];

fn eager(fixture: &Fixture, tensor: &Tensor) -> EagerTensor {
    EagerTensor::from_tensor(&fixture.context, tensor).unwrap()
}

fn op<'a>(fixture: &'a Fixture, name: &'a str) -> Operation<'a> {
    Operation::new(&fixture.context, name).unwrap()
}

fn message<T>(result: Result<T, TensorFlowError>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}

fn beyond(fixture: &Fixture) {
    let x = [eager(fixture, &numbers(&[2]))];
    for (name, count) in [
        ("NoOp", 0),
        ("Const", 0),
        ("VarHandleOp", 0),
        ("Neg", 1),
        ("AddV2", 2),
        ("Select", 3),
    ] {
        let given = || (0..count).try_fold(op(fixture, name), |op, _| op.input(&x[0]));
        let inputs = if count == 1 { "input" } else { "inputs" };
        let text = format!("{name} takes {count} {inputs}, but more were given");
        assert_eq!(message(given().unwrap().input(&x[0])), text);
        assert_eq!(message(given().unwrap().input_list(&x)), text);
        assert_eq!(message(given().unwrap().input_list(&[])), text);
    }
    let axis = eager(fixture, &Tensor::scalar(0_i32));
    let joined = op(fixture, "ConcatV2").input_list(&x).unwrap();
    let joined = joined.input(&axis).unwrap().input(&axis);
    assert_eq!(
        message(joined),
        "ConcatV2 takes 2 inputs, but more were given"
    );
}

fn kinds(fixture: &Fixture) {
    let x = [eager(fixture, &numbers(&[2]))];
    for list in [&x[..], &[]] {
        assert_eq!(
            message(op(fixture, "AddV2").input_list(list)),
            "expected one tensor, by Operation::input, for input \"x\" of AddV2, got a list"
        );
    }
    for (name, input) in [
        ("ConcatV2", "values"),
        ("AddN", "inputs"),
        ("IdentityN", "input"),
    ] {
        assert_eq!(
            message(op(fixture, name).input(&x[0])),
            format!(
                "expected a list of tensors, by Operation::input_list, for input {input:?} of \
                 {name}, got one tensor"
            )
        );
    }
}

fn missing(fixture: &Fixture) {
    let x = [eager(fixture, &numbers(&[2]))];
    let text = |input: &str, op: &str| {
        format!("expected one tensor, by Operation::input, for input {input:?} of {op}, got none")
    };
    assert_eq!(message(op(fixture, "AddV2").run()), text("x", "AddV2"));
    let add = op(fixture, "AddV2").input(&x[0]).unwrap();
    assert_eq!(message(add.run_one()), text("y", "AddV2"));
    assert_eq!(
        message(op(fixture, "ConcatV2").run()),
        text("axis", "ConcatV2")
    );
    let joined = op(fixture, "ConcatV2").input_list(&x).unwrap();
    assert_eq!(message(joined.run()), text("axis", "ConcatV2"));
    // Without a default for a list that is left out, TensorFlow refuses.
    assert!(message(op(fixture, "AddN").run()).starts_with("TFE_Execute failed with "));
}

fn empty(fixture: &Fixture) {
    let axis = eager(fixture, &Tensor::scalar(0_i32));
    let dtype = DataType::from_code(1);
    let refused = |op: Operation<'_>| {
        let text = message(op.run());
        assert!(
            text.starts_with("TFE_Execute failed with INVALID_ARGUMENT"),
            "{text}"
        );
    };
    // These need a tensor or two.
    refused(op(fixture, "AddN").input_list(&[]).unwrap());
    refused(op(fixture, "IdentityN").input_list(&[]).unwrap());
    let joined = op(fixture, "ConcatV2").input_list(&[]).unwrap();
    refused(joined.input(&axis).unwrap());
    let added = op(fixture, "AddN").attribute("T", dtype).unwrap();
    refused(added.input_list(&[]).unwrap());
    // `Print` takes any number of tensors; it says nothing the first 0 times.
    let x = eager(fixture, &numbers(&[2]));
    let print = op(fixture, "Print").attribute("first_n", 0_i64).unwrap();
    let print = print.input(&x).unwrap().input_list(&[]).unwrap();
    let same = print.run_one().unwrap().to_tensor().unwrap();
    assert_eq!(same.to_vec::<f32>().unwrap(), [0.0, 1.0]);
}

/// Lists after others, and after single tensors: `SparseCross` has four, `Assert` one of any types.
fn mixed(fixture: &Fixture) {
    let x = eager(fixture, &numbers(&[2]));
    let index = eager(fixture, &Tensor::from_slice(&[1_i64, 2], &[2]).unwrap());
    let list = [x, index];
    let same = op(fixture, "IdentityN")
        .input_list(&list)
        .unwrap()
        .run()
        .unwrap();
    assert_eq!(same[0].data_type().name(), "DT_FLOAT");
    assert_eq!(
        same[1].to_tensor().unwrap().to_vec::<i64>().unwrap(),
        [1, 2]
    );
    let condition = eager(fixture, &Tensor::scalar(true));
    let assert = op(fixture, "Assert").input(&condition).unwrap();
    assert.input_list(&list).unwrap().run().unwrap();

    // `DynamicStitch` has two lists of one length: of indices, and of any type.
    let indices =
        [[0_i32, 2], [1, 3]].map(|i| eager(fixture, &Tensor::from_slice(&i, &[2]).unwrap()));
    let data = [[1.0_f32, 2.0], [3.0, 4.0]]
        .map(|x| eager(fixture, &Tensor::from_slice(&x, &[2]).unwrap()));
    let stitched = op(fixture, "DynamicStitch").input_list(&indices).unwrap();
    let stitched = stitched.input_list(&data).unwrap().run_one().unwrap();
    assert_eq!(
        stitched.to_tensor().unwrap().to_vec::<f32>().unwrap(),
        [1.0, 3.0, 2.0, 4.0]
    );
    let unequal = op(fixture, "DynamicStitch").input_list(&indices).unwrap();
    let text = message(unequal.input_list(&data[..1]).unwrap().run());
    assert!(
        text.starts_with("TFE_Execute failed with INVALID_ARGUMENT"),
        "{text}"
    );

    // Of the four lists of `SparseCross` all but the last are empty.
    let dense = [eager(
        fixture,
        &Tensor::from_slice(&[1_i64, 2], &[2, 1]).unwrap(),
    )];
    let mut cross = op(fixture, "SparseCross");
    for list in [&[][..], &[], &[], &dense] {
        cross = cross.input_list(list).unwrap();
    }
    for (name, value) in [
        ("hashed_output", OpAttribute::from(true)),
        ("num_buckets", OpAttribute::from(10_i64)),
        ("hash_key", OpAttribute::from(1_i64)),
        ("out_type", OpAttribute::from(DataType::from_code(9))),
        ("internal_type", OpAttribute::from(DataType::from_code(9))),
    ] {
        cross = cross.attribute(name, value).unwrap();
    }
    assert_eq!(cross.run().unwrap().len(), 3);
}

fn differing(fixture: &Fixture) {
    let list = [
        eager(fixture, &numbers(&[2])),
        eager(fixture, &Tensor::from_slice(&[1_i32, 2], &[2]).unwrap()),
    ];
    let text = message(op(fixture, "AddN").input_list(&list).unwrap().run());
    assert!(
        text.starts_with("TFE_Execute failed with INVALID_ARGUMENT"),
        "{text}"
    );
    let text = message(
        op(fixture, "AddV2")
            .input(&list[0])
            .unwrap()
            .input(&list[1])
            .unwrap()
            .run(),
    );
    assert!(
        text.starts_with("TFE_Execute failed with INVALID_ARGUMENT"),
        "{text}"
    );
}

fn attributes(fixture: &Fixture) {
    let list = [
        eager(fixture, &numbers(&[2])),
        eager(fixture, &numbers(&[2])),
    ];
    let int = DataType::from_code(3);
    // The first value counts.
    let after = op(fixture, "AddN").input_list(&list).unwrap();
    let after = after
        .attribute("N", 5_i64)
        .unwrap()
        .attribute("T", int)
        .unwrap();
    let sum = after.run_one().unwrap().to_tensor().unwrap();
    assert_eq!(sum.to_vec::<f32>().unwrap(), [0.0, 2.0]);
    let before = |name: &str, value: OpAttribute| {
        let op = op(fixture, "AddN").attribute(name, value).unwrap();
        message(op.input_list(&list).unwrap().run())
    };
    for text in [
        before("N", 5_i64.into()),
        before("N", 1_i64.into()),
        before("N", 0_i64.into()),
        before("N", (-1_i64).into()),
        before("N", i64::MAX.into()),
        before("T", int.into()),
    ] {
        assert!(
            text.starts_with("TFE_Execute failed with INVALID_ARGUMENT"),
            "{text}"
        );
    }
}

fn handles(fixture: &Fixture) {
    let dtype = DataType::from_code(1);
    let variable = |name: &str| {
        op(fixture, "VarHandleOp")
            .attribute("dtype", dtype)
            .and_then(|op| op.attribute("shape", OpAttribute::Shape(vec![2])))
            .and_then(|op| op.attribute("shared_name", name))
            .and_then(Operation::run_one)
            .unwrap()
    };
    let list = [variable("inputs one"), variable("inputs two")];
    let same = op(fixture, "IdentityN")
        .input_list(&list)
        .unwrap()
        .run()
        .unwrap();
    assert_eq!(same[1].data_type().name(), "DT_RESOURCE");
    for (same, value) in same.iter().zip([numbers(&[2]), numbers(&[2])]) {
        let value = eager(fixture, &value);
        let assign = op(fixture, "AssignVariableOp").input(same).unwrap();
        assign.input(&value).unwrap().run().unwrap();
    }
    for handle in &list {
        let read = op(fixture, "ReadVariableOp").input(handle).unwrap();
        let read = read.attribute("dtype", dtype).unwrap().run_one().unwrap();
        assert_eq!(
            read.to_tensor().unwrap().to_vec::<f32>().unwrap(),
            [0.0, 1.0]
        );
        op(fixture, "DestroyResourceOp")
            .input(handle)
            .unwrap()
            .run()
            .unwrap();
    }
    // A handle where numbers are expected, and numbers where a handle is.
    let text = message(op(fixture, "Neg").input(&list[0]).unwrap().run());
    assert!(text.starts_with("TFE_Execute failed with "), "{text}");
    let x = eager(fixture, &numbers(&[2]));
    let read = op(fixture, "ReadVariableOp")
        .attribute("dtype", dtype)
        .unwrap();
    let text = message(read.input(&x).unwrap().run());
    assert!(text.starts_with("TFE_Execute failed with "), "{text}");
    // Ops of references have no kernels here, which would write to a tensor.
    let text = message(
        op(fixture, "AssignAdd")
            .input(&x)
            .unwrap()
            .input(&x)
            .unwrap()
            .run(),
    );
    assert!(text.starts_with("TFE_Execute failed with "), "{text}");
}

fn results(fixture: &Fixture) {
    let x = eager(fixture, &numbers(&[3]));
    for count in [0, 1, 1 << 31, 1 << 32, usize::MAX] {
        let sum = op(fixture, "AddV2")
            .max_results(count)
            .input(&x)
            .unwrap()
            .input(&x)
            .unwrap();
        let sum = sum.run_one().unwrap().to_tensor().unwrap();
        assert_eq!(sum.to_vec::<f32>().unwrap(), [0.0, 2.0, 4.0]);
    }
    let axis = eager(fixture, &Tensor::scalar(0_i32));
    let split = |parts: i64, count: usize| {
        let split = op(fixture, "Split").max_results(count);
        let split = split.input(&axis).unwrap().input(&x).unwrap();
        split.attribute("num_split", parts).unwrap().run()
    };
    for count in [16, 1 << 31, 1 << 32, usize::MAX] {
        assert_eq!(split(3, count).unwrap().len(), 3);
    }
    let text = message(split((1 << 20) + 1, usize::MAX));
    assert!(
        text.starts_with("TFE_Execute failed with INVALID_ARGUMENT"),
        "{text}"
    );
}
