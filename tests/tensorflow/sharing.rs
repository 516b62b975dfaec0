//! Tensors in TensorFlow and back: shared, counted, and refused where they would be copied.

use crate::fixture::{Check, Counted, Fixture, numbers};
use dlbridge::dlpack::{Description, Flags, Versioned, export};
use dlbridge::tensorflow::{
    ALIGNMENT, DataType, EagerTensor, Operation, TensorFlowError, TfTensor,
};
use dlbridge::{DType, Device, DeviceKind, Storage, Tensor};
use std::thread;

pub(crate) const CHECKS: &[Check] = &[
    (
        "every_dtype_is_shared_both_ways",
        every_dtype_is_shared_both_ways,
    ),
    (
        "every_shape_is_shared_both_ways",
        every_shape_is_shared_both_ways,
    ),
    (
        "writes_to_rust_memory_are_seen_by_tensorflow",
        writes_to_rust_memory,
    ),
    (
        "writes_to_tensorflow_memory_are_seen_by_rust",
        writes_to_tensorflow_memory,
    ),
    (
        "memory_is_released_once_after_the_last_handle",
        memory_is_released_once,
    ),
    ("misaligned_memory_is_refused_or_copied", misaligned_memory),
    ("other_layouts_are_refused_or_copied", other_layouts),
    (
        "types_and_devices_that_cannot_be_shared_are_refused",
        other_types_and_devices,
    ),
    ("strings_are_refused", strings_are_refused),
    ("threads_share_and_compute_at_once", threads),
];

/// Makes a tensor of bytes 0, 1, 2, ... with elements of less than a byte padded, as TensorFlow has them.
fn sample(dtype: DType, shape: &[usize]) -> Tensor {
    let padded = dtype.is_sub_byte();
    let itemsize = dtype.item_bits().div_ceil(8);
    let nbytes = itemsize * shape.iter().product::<usize>();
    let largest = if dtype == DType::BOOL {
        1
    } else {
        (1 << dtype.bits().min(7)) - 1
    };
    let bytes: Vec<u8> = (0..nbytes).map(|i| (i % (largest + 1)) as u8).collect();
    let bytes = Tensor::from_slice(&bytes, &[nbytes]).unwrap();
    if !padded {
        return Tensor::from_storage(bytes.storage().clone(), shape, dtype).unwrap();
    }
    let layout = Tensor::zeros(shape, DType::U8).unwrap();
    let description = Description {
        data: bytes.data_ptr().cast_mut().cast(),
        device: Device::CPU.into(),
        dtype: dtype.into(),
        shape,
        strides: layout.strides(),
        byte_offset: 0,
        flags: Flags::IS_SUBBYTE_TYPE_PADDED,
    };
    // SAFETY: the owner keeps the bytes, of which there is one for each element.
    let managed = unsafe { export::<Versioned, _>(&description, bytes.clone()) };
    Tensor::from_dlpack(managed).unwrap()
}

/// The bytes of a row-major tensor.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    // SAFETY: the tensors here are row-major on the host, and live.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr(), tensor.nbytes()) }.to_vec()
}

fn every_dtype_is_shared_both_ways(fixture: &Fixture) {
    let mut shared = 0;
    for data_type in DataType::all() {
        let Ok(dtype) = data_type.dtype() else {
            continue;
        };
        let ours = sample(dtype, &[2, 3]);
        let theirs = match TfTensor::from_tensor(fixture.tensorflow, &ours) {
            Ok(theirs) => theirs,
            // Small floats and integers are newer than the oldest version.
            Err(error) => {
                let text = error.to_string();
                assert!(data_type.code() > 23, "{text}");
                assert!(
                    text.starts_with("expected an element type of TensorFlow 2."),
                    "{text}"
                );
                continue;
            }
        };
        assert_eq!(theirs.data_type(), data_type);
        assert_eq!(theirs.shape(), [2, 3]);
        assert_eq!(theirs.nbytes(), ours.nbytes());
        assert_eq!(theirs.data_ptr(), ours.data_ptr(), "{dtype}");
        assert!(!theirs.is_copied());
        let eager = EagerTensor::from_tensor(&fixture.context, &ours).unwrap();
        for back in [theirs.to_tensor().unwrap(), eager.to_tensor().unwrap()] {
            assert_eq!(back.data_ptr(), ours.data_ptr(), "{dtype}");
            assert_eq!((back.dtype(), back.is_padded()), (dtype, ours.is_padded()));
            assert_eq!(back.shape(), [2, 3]);
            assert_eq!(bytes(&back), bytes(&ours));
            assert!(back.is_read_only() && !back.is_copied());
        }
        shared += 1;
    }
    assert!(shared >= 15, "{shared}");
}

fn every_shape_is_shared_both_ways(fixture: &Fixture) {
    let shapes: [&[usize]; 8] = [
        &[],
        &[1],
        &[7],
        &[2, 3, 4],
        &[0],
        &[3, 0, 2],
        &[1, 2, 1, 2, 1, 2, 1, 2],
        &[70_000, 3],
    ];
    for shape in shapes {
        let ours = numbers(shape);
        let theirs = TfTensor::from_tensor(fixture.tensorflow, &ours).unwrap();
        assert_eq!(theirs.shape(), shape);
        let back = theirs.to_tensor().unwrap();
        assert_eq!(back.shape(), shape);
        assert_eq!(back.to_vec::<f32>().unwrap(), ours.to_vec::<f32>().unwrap());
        if !ours.is_empty() {
            assert_eq!(back.data_ptr(), ours.data_ptr());
        }
    }
    // A part that begins at an aligned address is row-major as well.
    let part = numbers(&[4, 16]).slice(0, 1..3).unwrap();
    let theirs = TfTensor::from_tensor(fixture.tensorflow, &part).unwrap();
    assert_eq!(theirs.data_ptr(), part.data_ptr());
    assert_eq!(theirs.shape(), [2, 16]);
}

fn writes_to_rust_memory(fixture: &Fixture) {
    let ours = numbers(&[3]);
    let theirs = EagerTensor::from_tensor(&fixture.context, &ours).unwrap();
    // SAFETY: the memory is this test's, and TensorFlow computes nothing meanwhile.
    unsafe { ours.data_ptr().cast_mut().cast::<f32>().write(10.0) };
    let doubled = Operation::new(&fixture.context, "AddV2").unwrap();
    let doubled = doubled
        .input(&theirs)
        .unwrap()
        .input(&theirs)
        .unwrap()
        .run_one()
        .unwrap();
    assert_eq!(
        doubled.to_tensor().unwrap().to_vec::<f32>().unwrap(),
        [20.0, 2.0, 4.0]
    );
    // TensorFlow wrote its result elsewhere, though nothing else of it uses the input.
    assert_eq!(ours.to_vec::<f32>().unwrap(), [10.0, 1.0, 2.0]);
}

fn writes_to_tensorflow_memory(fixture: &Fixture) {
    let x = EagerTensor::from_tensor(&fixture.context, &numbers(&[3])).unwrap();
    let negated = Operation::new(&fixture.context, "Neg")
        .unwrap()
        .input(&x)
        .unwrap();
    let theirs = negated.run_one().unwrap().to_tf_tensor().unwrap();
    let ours = theirs.to_tensor().unwrap();
    assert_eq!(ours.data_ptr(), theirs.data_ptr());
    // SAFETY: the memory is that of a result that only this test has.
    unsafe { theirs.data_ptr().cast_mut().cast::<f32>().write(7.0) };
    assert_eq!(ours.to_vec::<f32>().unwrap(), [7.0, -1.0, -2.0]);
    // The tensor keeps TensorFlow's.
    drop(theirs);
    assert_eq!(ours.to_vec::<f32>().unwrap(), [7.0, -1.0, -2.0]);
    // What TensorFlow allocates can be written after a copy.
    let mut copy = ours.copy().unwrap();
    copy.view_mut::<f32>().unwrap().fill(1.0);
    assert_eq!(ours.to_vec::<f32>().unwrap(), [7.0, -1.0, -2.0]);
}

fn memory_is_released_once(fixture: &Fixture) {
    let mut memory = Counted::new(&[6], DType::F32);
    let theirs = TfTensor::from_tensor(fixture.tensorflow, &memory.take()).unwrap();
    let (other, back) = (theirs.clone(), theirs.to_tensor().unwrap());
    let eager = EagerTensor::from_tf_tensor(&fixture.context, &theirs).unwrap();
    for handle in [Some(theirs), Some(other)] {
        drop(handle);
        assert_eq!(memory.releases(), 0);
    }
    drop(back);
    assert_eq!(memory.releases(), 0);
    drop(eager);
    assert_eq!(memory.releases(), 1);

    // On another thread, and last through a tensor that came back.
    let mut memory = Counted::new(&[6], DType::F32);
    let theirs = TfTensor::from_tensor(fixture.tensorflow, &memory.take()).unwrap();
    let back = theirs.to_tensor().unwrap();
    drop(theirs);
    thread::spawn(move || drop(back)).join().unwrap();
    assert_eq!(memory.releases(), 1);

    // Where nothing is made, nothing is kept.
    let mut memory = Counted::new(&[2, 2], DType::F32);
    let transposed = memory.take().transpose();
    TfTensor::from_tensor(fixture.tensorflow, &transposed).unwrap_err();
    drop(transposed);
    assert_eq!(memory.releases(), 1);
}

fn misaligned_memory(fixture: &Fixture) {
    let part = numbers(&[8]).slice(0, 1..4).unwrap();
    let error = TfTensor::from_tensor(fixture.tensorflow, &part).unwrap_err();
    let address = part.data_ptr().addr();
    assert_eq!(
        error.to_string(),
        format!(
            "expected an address aligned to 64 bytes, got address {address:#x}, 4 bytes past one; copy it \
             first: Tensor::copy and Tensor::from_slice align to 64"
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
            "expected padded int4, got packed int4; TensorFlow stores each element in a byte; unpack it first"
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
    let expected = "expected a tensor of numbers, got DT_STRING; decode it in TensorFlow first, as by \
                    tf.io.decode_raw";
    let of_handle = text.to_tensor().unwrap_err();
    let of_tensor = text.to_tf_tensor().unwrap().to_tensor().unwrap_err();
    for error in [of_handle, of_tensor] {
        assert!(matches!(error, TensorFlowError::Tensor(_)));
        assert_eq!(error.to_string(), expected);
    }
}

fn threads(fixture: &Fixture) {
    const THREADS: usize = 8;
    let mut memory = Counted::new(&[6], DType::F32);
    let shared = memory.take();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (shared, context) = (&shared, &fixture.context);
            scope.spawn(move || {
                let own = Tensor::full(&[6], number as f32).unwrap();
                for _ in 0..100 {
                    let zeros = EagerTensor::from_tensor(context, shared).unwrap();
                    let own = EagerTensor::from_tensor(context, &own).unwrap();
                    let sum = Operation::new(context, "AddV2").unwrap();
                    let sum = sum
                        .input(&zeros)
                        .unwrap()
                        .input(&own)
                        .unwrap()
                        .run_one()
                        .unwrap();
                    let sum = sum.to_tensor().unwrap();
                    assert_eq!(sum.to_vec::<f32>().unwrap(), [number as f32; 6]);
                }
            });
        }
    });
    assert_eq!(memory.releases(), 0);
    drop(shared);
    assert_eq!(memory.releases(), 1);
}
