//! Tensors that TensorFlow would copy, or can't take: refused, or copied on request.

use crate::fixture::{Check, Fixture, numbers};
use crate::sharing::sample;
use dlbridge::tensorflow::{ALIGNMENT, EagerTensor, Operation, TensorFlowError, TfTensor};
use dlbridge::{DType, Device, DeviceKind, Storage, Tensor};

pub(crate) const CHECKS: &[Check] = &[
    ("misaligned_memory_is_refused_or_copied", misaligned_memory),
    ("other_layouts_are_refused_or_copied", other_layouts),
    (
        "types_and_devices_that_cannot_be_shared_are_refused",
        other_types_and_devices,
    ),
    ("strings_are_refused", strings_are_refused),
];

fn misaligned_memory(fixture: &Fixture) {
    let part = numbers(&[8]).slice(0, 1..4).unwrap();
    let error = TfTensor::from_tensor(fixture.tensorflow, &part).unwrap_err();
    let address = part.data_ptr().addr();
    assert_eq!(
        error.to_string(),
        format!(
            "expected an address aligned to 64 bytes, got address {address:#x}, 4 bytes past \
             one; copy it first: Tensor::copy and Tensor::from_slice align to 64"
        )
    );
    EagerTensor::from_tensor(&fixture.context, &part).unwrap_err();
    EagerTensor::from_tensor_by_dlpack(&fixture.context, &part).unwrap_err();
    let copy = TfTensor::from_tensor_or_copy(fixture.tensorflow, &part).unwrap();
    assert!(copy.is_copied());
    assert_ne!(copy.data_ptr(), part.data_ptr());
    assert!(copy.data_ptr().addr().is_multiple_of(ALIGNMENT));
    assert_eq!(
        copy.to_tensor().unwrap().to_vec::<f32>().unwrap(),
        [1.0, 2.0, 3.0]
    );
    // What can be shared isn't copied.
    let whole = numbers(&[8]);
    let shared = TfTensor::from_tensor_or_copy(fixture.tensorflow, &whole).unwrap();
    assert!(!shared.is_copied());
    assert_eq!(shared.data_ptr(), whole.data_ptr());
}

fn other_layouts(fixture: &Fixture) {
    let whole = numbers(&[2, 3]);
    let error = TfTensor::from_tensor(fixture.tensorflow, &whole.transpose()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected row-major elements, got shape [3, 2], strides [1, 3]; copy it first"
    );
    let copy = TfTensor::from_tensor_or_copy(fixture.tensorflow, &whole.transpose()).unwrap();
    assert!(copy.is_copied());
    let expected = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    assert_eq!(copy.to_tensor().unwrap().to_vec::<f32>().unwrap(), expected);
    let backwards = numbers(&[3]).step_by(0, -1).unwrap();
    let copy = TfTensor::from_tensor_or_copy(fixture.tensorflow, &backwards).unwrap();
    assert_eq!(
        copy.to_tensor().unwrap().to_vec::<f32>().unwrap(),
        [2.0, 1.0, 0.0]
    );
}

fn other_types_and_devices(fixture: &Fixture) {
    let refused = |tensor: &Tensor| {
        let error = TfTensor::from_tensor(fixture.tensorflow, tensor).unwrap_err();
        assert_eq!(
            TfTensor::from_tensor_or_copy(fixture.tensorflow, tensor).unwrap_err(),
            error
        );
        error.to_string()
    };
    let scale = sample(DType::F8_E8M0FNU, &[2]);
    assert_eq!(
        refused(&scale),
        "expected an element type of TensorFlow, got float8_e8m0fnu; cast it first"
    );
    let theirs = TfTensor::from_tensor(fixture.tensorflow, &sample(DType::I4, &[2]));
    if theirs.is_ok() {
        let packed =
            Tensor::from_storage(Storage::from_vec(vec![0x21_u8]), &[2], DType::I4).unwrap();
        assert_eq!(
            refused(&packed),
            "expected padded int4, got packed int4; TensorFlow stores each element in a \
             byte; unpack it first"
        );
    }
    let data = std::ptr::without_provenance_mut(4096);
    // SAFETY: no code reads the memory, which isn't the CPU's.
    let storage = unsafe { Storage::from_raw(data, 8, Device::new(DeviceKind::Cuda, 0), || ()) };
    let elsewhere = Tensor::from_storage(storage, &[2], DType::F32).unwrap();
    let error = TfTensor::from_tensor(fixture.tensorflow, &elsewhere).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected cpu, got cuda:0; copy it to the host first"
    );
    TfTensor::from_tensor_or_copy(fixture.tensorflow, &elsewhere).unwrap_err();
}

fn strings_are_refused(fixture: &Fixture) {
    let x = EagerTensor::from_tensor(&fixture.context, &numbers(&[3])).unwrap();
    let text = Operation::new(&fixture.context, "AsString")
        .unwrap()
        .input(&x)
        .unwrap();
    let text = text.run_one().unwrap();
    assert_eq!(text.data_type().name(), "DT_STRING");
    let expected = "expected a tensor of numbers, got DT_STRING; decode it in \
                    TensorFlow first, as by tf.io.decode_raw";
    let of_handle = text.to_tensor().unwrap_err();
    let of_tensor = text.to_tf_tensor().unwrap().to_tensor().unwrap_err();
    for error in [of_handle, of_tensor] {
        assert!(matches!(error, TensorFlowError::Tensor(_)));
        assert_eq!(error.to_string(), expected);
    }
}
