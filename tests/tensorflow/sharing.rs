//! Tensors in TensorFlow and back: shared, and released once.

use crate::combinations::SHAPES;
use crate::fixture::{Check, Counted, Fixture, numbers};
use dlbridge::dlpack::{Description, Flags, Versioned, export};
use dlbridge::tensorflow::{DataType, EagerTensor, Operation, TfTensor};
use dlbridge::{DType, Device, Tensor};
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
    ("threads_share_and_compute_at_once", threads),
];

/// Makes a tensor of bytes 0, 1, 2, ... with elements of less than a byte padded, as TensorFlow has
/// them.
pub(crate) fn sample(dtype: DType, shape: &[usize]) -> Tensor {
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
    for shape in SHAPES {
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
