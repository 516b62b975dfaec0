//! Eager ops by name, and their contexts.

use crate::fixture::{Check, Fixture, numbers};
use dlbridge::tensorflow::{
    Context, DataType, EagerTensor, OpAttribute, Operation, TensorFlowError,
};
use dlbridge::{DType, Tensor};

pub(crate) const CHECKS: &[Check] = &[
    ("op_computes_and_derives_types", op_computes),
    ("attributes_are_checked_against_the_op", attributes),
    ("ops_with_lists_and_several_results_run", lists),
    ("op_that_fails_reports_what_tensorflow_says", failures),
    ("input_memory_is_not_reused_for_results", inputs_are_kept),
    ("tensor_of_another_context_is_refused", other_context),
    ("handle_is_on_the_cpu", device),
    ("context_is_kept_by_its_tensors", context_is_kept),
];

fn eager(fixture: &Fixture, tensor: &Tensor) -> EagerTensor {
    EagerTensor::from_tensor(&fixture.context, tensor).unwrap()
}

fn op<'a>(fixture: &'a Fixture, name: &'a str) -> Operation<'a> {
    Operation::new(&fixture.context, name).unwrap()
}

fn values(tensor: &EagerTensor) -> Vec<f32> {
    tensor.to_tensor().unwrap().to_vec().unwrap()
}

fn op_computes(fixture: &Fixture) {
    let x = eager(fixture, &numbers(&[2, 3]));
    let sum = op(fixture, "AddV2")
        .input(&x)
        .unwrap()
        .input(&x)
        .unwrap()
        .run_one()
        .unwrap();
    assert_eq!(values(&sum), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(sum.to_tensor().unwrap().shape(), [2, 3]);
}

fn attributes(fixture: &Fixture) {
    let x = eager(fixture, &numbers(&[2, 3]));
    let product = op(fixture, "MatMul").input(&x).unwrap().input(&x).unwrap();
    let product = product
        .attribute("transpose_b", true)
        .unwrap()
        .run_one()
        .unwrap();
    assert_eq!(values(&product), [5.0, 14.0, 14.0, 50.0]);

    let cast = op(fixture, "Cast").input(&x).unwrap();
    let cast = cast
        .attribute("DstT", OpAttribute::try_from(DType::I64).unwrap())
        .unwrap();
    let cast = cast.run_one().unwrap().to_tensor().unwrap();
    assert_eq!(cast.to_vec::<i64>().unwrap(), [0, 1, 2, 3, 4, 5]);

    let flat = op(fixture, "Squeeze");
    let one = eager(fixture, &numbers(&[1, 3, 1]));
    let flat = flat
        .input(&one)
        .unwrap()
        .attribute("squeeze_dims", vec![0])
        .unwrap();
    assert_eq!(flat.run_one().unwrap().to_tensor().unwrap().shape(), [3, 1]);

    let shape = op(fixture, "PlaceholderWithDefault").input(&one).unwrap();
    let shape = shape
        .attribute("shape", OpAttribute::Shape(vec![-1, 3, 1]))
        .unwrap();
    assert_eq!(
        shape.run_one().unwrap().to_tensor().unwrap().shape(),
        [1, 3, 1]
    );

    let leaky = op(fixture, "LeakyRelu")
        .input(&x)
        .unwrap()
        .attribute("alpha", 0.5_f32)
        .unwrap();
    assert_eq!(values(&leaky.run_one().unwrap())[5], 5.0);
    let text = op(fixture, "AsString")
        .input(&x)
        .unwrap()
        .attribute("fill", "0")
        .unwrap();
    let text = text.attribute("width", 8_i64).unwrap().run_one().unwrap();
    assert_eq!(text.data_type(), DataType::from_code(7));

    let wrong = op(fixture, "MatMul")
        .attribute("transpose_b", 1_i64)
        .unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "expected bool for attribute \"transpose_b\" of MatMul, got int"
    );
    let wrong = op(fixture, "Squeeze")
        .attribute("squeeze_dims", 1_i64)
        .unwrap_err();
    let text = "expected list(int) for attribute \"squeeze_dims\" of Squeeze, got int";
    assert_eq!(wrong.to_string(), text);
    let wrong = op(fixture, "MatMul")
        .attribute("nonsense", true)
        .unwrap_err();
    assert!(
        wrong
            .to_string()
            .starts_with("TFE_OpGetAttrType failed with "),
        "{wrong}"
    );
    let wrong = op(fixture, "MatMul").attribute("a\0b", true).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "expected a name without a NUL byte, got \"a\\0b\""
    );
}

fn lists(fixture: &Fixture) {
    let parts = [
        eager(fixture, &numbers(&[2])),
        eager(fixture, &numbers(&[1])),
    ];
    let axis = eager(fixture, &Tensor::scalar(0_i32));
    let joined = op(fixture, "ConcatV2")
        .input_list(&parts)
        .unwrap()
        .input(&axis)
        .unwrap();
    assert_eq!(values(&joined.run_one().unwrap()), [0.0, 1.0, 0.0]);

    let x = eager(fixture, &numbers(&[20]));
    let split = || {
        let split = op(fixture, "Split")
            .input(&axis)
            .unwrap()
            .input(&x)
            .unwrap();
        split.attribute("num_split", 20_i64).unwrap()
    };
    let results = split().max_results(20).run().unwrap();
    assert_eq!(
        results.iter().flat_map(values).collect::<Vec<_>>(),
        values(&x)
    );
    let error = split().run().unwrap_err().to_string();
    assert!(
        error.starts_with("TFE_Execute failed with INVALID_ARGUMENT: "),
        "{error}"
    );
    let error = split().max_results(20).run_one().unwrap_err();
    assert_eq!(error.to_string(), "expected one result from Split, got 20");
}

fn failures(fixture: &Fixture) {
    let error = Operation::new(&fixture.context, "NoSuchOp").unwrap_err();
    assert!(
        matches!(
            &error,
            TensorFlowError::Status {
                function: "TFE_NewOp",
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("NoSuchOp"), "{error}");
    let (x, y) = (
        eager(fixture, &numbers(&[2, 3])),
        eager(fixture, &numbers(&[2, 2])),
    );
    let product = op(fixture, "MatMul").input(&x).unwrap().input(&y).unwrap();
    let error = product.run().unwrap_err();
    let TensorFlowError::Status {
        function,
        code,
        message,
    } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!((*function, *code), ("TFE_Execute", "INVALID_ARGUMENT"));
    assert!(message.contains("[2,3]"), "{message}");
    assert!(op(fixture, "AddV2").device("nonsense").is_err());
    let add = op(fixture, "AddV2").device("/device:CPU:0").unwrap();
    assert_eq!(
        values(&add.input(&y).unwrap().input(&y).unwrap().run_one().unwrap())[3],
        6.0
    );
}

/// TensorFlow computes in place if nothing else refers to an input that it allocated. It didn't
/// allocate ours.
fn inputs_are_kept(fixture: &Fixture) {
    let ours = numbers(&[1024]);
    for name in ["Neg", "Square", "Relu", "Exp"] {
        let result = op(fixture, name)
            .input(&eager(fixture, &ours))
            .map(Operation::run_one);
        let result = result.unwrap().unwrap().to_tensor().unwrap();
        assert_ne!(result.data_ptr(), ours.data_ptr(), "{name}");
        assert_eq!(ours.to_vec::<f32>().unwrap()[1023], 1023.0, "{name}");
    }
}

fn other_context(fixture: &Fixture) {
    let other = Context::new(fixture.tensorflow).unwrap();
    let x = [EagerTensor::from_tensor(&other, &numbers(&[2])).unwrap()];
    for error in [
        op(fixture, "Neg").input(&x[0]).unwrap_err(),
        op(fixture, "AddN").input_list(&x).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(
            text.starts_with("expected a tensor of the context in which "),
            "{text}"
        );
        assert!(
            text.ends_with("make it in this context, by EagerTensor::from_tensor"),
            "{text}"
        );
    }
}

fn device(fixture: &Fixture) {
    let name = eager(fixture, &numbers(&[1])).device_name().unwrap();
    assert_eq!(name, "/job:localhost/replica:0/task:0/device:CPU:0");
}

fn context_is_kept(fixture: &Fixture) {
    let context = Context::new(fixture.tensorflow).unwrap();
    let x = EagerTensor::from_tensor(&context, &numbers(&[2])).unwrap();
    let doubled = Operation::new(&context, "AddV2").unwrap();
    let doubled = doubled
        .input(&x)
        .unwrap()
        .input(&x)
        .unwrap()
        .run_one()
        .unwrap();
    drop((context, x));
    assert_eq!(values(&doubled), [0.0, 2.0]);
}
