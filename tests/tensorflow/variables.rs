//! Variables whose value is shared with us: updates of them are written elsewhere.

use crate::fixture::{Check, Counted, Fixture};
use dlbridge::tensorflow::{DataType, EagerTensor, OpAttribute, Operation};
use dlbridge::{DType, Tensor};

pub(crate) const CHECKS: &[Check] = &[
    ("updates_of_a_variable_leave_our_memory", |fixture| {
        updates(fixture, "shared", EagerTensor::from_tensor);
    }),
    ("updates_leave_memory_that_came_by_dlpack", |fixture| {
        updates(fixture, "by_dlpack", EagerTensor::from_tensor_by_dlpack);
    }),
];

type Share = fn(
    &dlbridge::tensorflow::Context,
    &Tensor,
) -> Result<EagerTensor, dlbridge::tensorflow::TensorFlowError>;

/// Assigns our memory to a variable, of which it is the only user then, and updates it.
fn updates(fixture: &Fixture, way: &str, share: Share) {
    let context = &fixture.context;
    let op = |name| Operation::new(context, name).unwrap();
    let make = |tensor: &Tensor| EagerTensor::from_tensor(context, tensor).unwrap();
    let (ones, one) = (
        make(&Tensor::full(&[4], 1.0_f32).unwrap()),
        make(&Tensor::scalar(1.0_f32)),
    );
    let index = make(&Tensor::scalar(0_i32));
    let [begin, end, step] = [0, 4, 1].map(|i| make(&Tensor::from_slice(&[i], &[1]).unwrap()));
    let kinds: [(&str, &[&EagerTensor]); 6] = [
        ("AssignAddVariableOp", &[&ones]),
        ("AssignSubVariableOp", &[&ones]),
        ("ResourceScatterAdd", &[&index, &one]),
        ("ResourceScatterUpdate", &[&index, &one]),
        ("ResourceApplyGradientDescent", &[&one, &ones]),
        ("ResourceStridedSliceAssign", &[&begin, &end, &step, &ones]),
    ];
    for (name, inputs) in kinds {
        let mut memory = Counted::new(&[4], DType::F32);
        let ours = memory.take();
        // Tests run at once, and variables are shared by their names.
        let variable_name = format!("{name} {way}");
        let variable = op("VarHandleOp")
            .attribute("dtype", DataType::from_code(1))
            .and_then(|op| op.attribute("shape", OpAttribute::Shape(vec![4])))
            .and_then(|op| op.attribute("shared_name", variable_name.as_str()))
            .and_then(Operation::run_one)
            .unwrap();
        let value = share(context, &ours).unwrap();
        op("AssignVariableOp")
            .input(&variable)
            .unwrap()
            .input(&value)
            .unwrap()
            .run()
            .unwrap();
        // From now on nothing of TensorFlow but the variable has the memory.
        drop(value);
        assert_eq!(memory.releases(), 0);
        let update = || {
            let op = inputs
                .iter()
                .fold(op(name).input(&variable), |op, input| op?.input(input));
            op.and_then(Operation::run).unwrap();
        };
        update();
        assert_eq!(ours.to_vec::<f32>().unwrap(), [0.0; 4], "{name}");
        let read = op("ReadVariableOp").input(&variable).unwrap();
        let read = read
            .attribute("dtype", DataType::from_code(1))
            .unwrap()
            .run_one()
            .unwrap();
        let read = read.to_tensor().unwrap();
        let values = read.to_vec::<f32>().unwrap();
        assert_ne!(values[0], 0.0, "{name}");
        // A value that was read stays as well.
        update();
        assert_eq!(read.to_vec::<f32>().unwrap(), values, "{name}");
        op("DestroyResourceOp")
            .input(&variable)
            .unwrap()
            .run()
            .unwrap();
        drop((ours, variable));
        assert_eq!(memory.releases(), 1, "{name}");
    }
}
