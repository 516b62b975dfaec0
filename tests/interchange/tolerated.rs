//! Descriptors that are odd, and still make sense: they are taken as they are.

use crate::foreign::{Counter, ForeignAbi, Producer, delete};
use dlbridge::dlpack::{DLDeviceType, DLPackVersion, Flags, Managed, Versioned};
use dlbridge::{DeviceKind, Tensor};
use std::ptr;

for_both_abis!(
    a_null_deleter,
    null_strides_are_row_major,
    strides_of_single_elements_say_nothing,
    strides_of_empty_tensors_say_nothing,
    null_data_without_elements,
    negative_strides,
    byte_offsets_on_the_host,
    byte_offsets_beside_handles,
    the_largest_rank,
);

/// Imports a descriptor that nothing is wrong with; its deletions are counted.
pub(crate) fn import<A: ForeignAbi>(producer: Producer, deletions: &Counter) -> Tensor {
    Tensor::from_dlpack(producer.hand_out::<A>(deletions)).unwrap()
}

#[track_caller]
pub(crate) fn assert_deleted_with(tensor: Tensor, deletions: &Counter) {
    assert_eq!(deletions.count(), 0);
    drop(tensor);
    assert_eq!(deletions.count(), 1);
}

fn a_null_deleter<A: ForeignAbi>() {
    let deletions = Counter::default();
    let raw = Producer::two_rows().hand_out_raw::<A>(&deletions);
    // SAFETY: no other code has the struct yet.
    unsafe { (*raw).set_deleter(None) };
    // SAFETY: the struct stays until it is deleted below, after the last use of it.
    let managed = unsafe { Managed::from_raw(raw) }.unwrap();
    let tensor = Tensor::from_dlpack(managed).unwrap();
    let export = tensor.into_dlpack_as::<A>().unwrap();
    let tensor = Tensor::from_dlpack(export).unwrap();
    assert_eq!(
        tensor.select(0, 1).unwrap().to_vec::<f32>().unwrap(),
        [3.0, 4.0, 5.0]
    );
    drop(tensor);
    assert_eq!(deletions.count(), 0);
    // SAFETY: it came from `hand_out_raw`, and nothing was there to delete it.
    unsafe { delete(raw) };
}

fn null_strides_are_row_major<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.strides = None;
    let tensor = import::<A>(producer, &deletions);
    assert_eq!(tensor.strides(), [3, 1]);
    assert_eq!(tensor.view::<f32>().unwrap()[[1, 0]], 3.0);
    assert_deleted_with(tensor, &deletions);
}

fn strides_of_single_elements_say_nothing<A: ForeignAbi>() {
    let deletions = Counter::default();
    let absurd = [i64::MAX, 3, i64::MIN, 1];
    let elements = [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0];
    let producer = Producer::of(&elements, &[1, 2, 1, 3], &absurd);
    let tensor = import::<A>(producer, &deletions);
    assert!(tensor.layout().is_contiguous());
    let view = tensor.view::<f32>().unwrap();
    assert_eq!(view.as_slice(), Some(&elements[..]));
    assert_eq!(view[[0, 1, 0, 2]], 5.0);
    // They lead nowhere in what is made of the tensor either.
    let transposed = tensor.transpose().step_by(2, -1).unwrap();
    let expected = [3.0, 0.0, 4.0, 1.0, 5.0, 2.0];
    assert_eq!(transposed.to_vec::<f32>().unwrap(), expected);
    let back = Tensor::from_dlpack(transposed.into_dlpack_as::<A>().unwrap()).unwrap();
    assert_eq!(back.copy().unwrap().to_vec::<f32>().unwrap(), expected);
    drop(back);
    assert_deleted_with(tensor, &deletions);
}

fn strides_of_empty_tensors_say_nothing<A: ForeignAbi>() {
    let deletions = Counter::default();
    let absurd = [i64::MAX, i64::MIN, i64::MAX];
    let tensor = import::<A>(Producer::of(&[0.0_f32; 0], &[4, 0, 5], &absurd), &deletions);
    assert_eq!(tensor.shape(), [4, 0, 5]);
    assert!(tensor.is_empty() && tensor.layout().is_contiguous());
    assert!(tensor.to_vec::<f32>().unwrap().is_empty());
    let back = Tensor::from_dlpack(tensor.to_dlpack_as::<A>().unwrap()).unwrap();
    assert_eq!(back.strides(), tensor.strides());
    assert_eq!(
        back.slice(0, 1..3).unwrap().copy().unwrap().shape(),
        [2, 0, 5]
    );
    drop(back);
    assert_deleted_with(tensor, &deletions);
}

fn null_data_without_elements<A: ForeignAbi>() {
    for kind in [DeviceKind::Cpu, DeviceKind::Cuda, DeviceKind::Metal] {
        let deletions = Counter::default();
        let mut producer = Producer::of(&[0.0_f32; 0], &[3, 0], &[0, 1]);
        producer.data = ptr::null_mut();
        producer.device = dlbridge::Device::new(kind, 0).into();
        let tensor = import::<A>(producer, &deletions);
        assert!(tensor.data_ptr().is_null());
        let back = Tensor::from_dlpack(tensor.to_dlpack_as::<A>().unwrap()).unwrap();
        assert!(back.data_ptr().is_null());
        drop(back);
        if kind == DeviceKind::Cpu {
            assert!(tensor.view::<f32>().unwrap().as_slice().unwrap().is_empty());
            assert_eq!(tensor.copy().unwrap().shape(), [3, 0]);
        }
        assert_deleted_with(tensor, &deletions);
    }
}

fn negative_strides<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    // The data pointer is at the element of index 0, which is the last one in memory.
    let memory = producer.memory();
    producer.data = memory.wrapping_add(20).cast();
    producer.strides = Some(vec![-3, -1]);
    let tensor = import::<A>(producer, &deletions);
    assert_eq!(tensor.data_ptr(), memory.wrapping_add(20));
    assert_eq!(tensor.storage().data_ptr(), memory.cast_const());
    assert_eq!((tensor.storage().nbytes(), tensor.byte_offset()), (24, 20));
    let expected = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0];
    assert_eq!(tensor.to_vec::<f32>().unwrap(), expected);
    assert_eq!(tensor.copy().unwrap().to_vec::<f32>().unwrap(), expected);
    assert_deleted_with(tensor, &deletions);
}

fn byte_offsets_on_the_host<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    let memory = producer.memory();
    producer.byte_offset = 8;
    producer.shape = Some(vec![2, 2]);
    producer.strides = Some(vec![2, 1]);
    let tensor = import::<A>(producer, &deletions);
    assert_eq!(tensor.data_ptr(), memory.wrapping_add(8));
    assert_eq!(tensor.byte_offset(), 0, "it is in the address");
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [2.0, 3.0, 4.0, 5.0]);
    assert_deleted_with(tensor, &deletions);
}

fn byte_offsets_beside_handles<A: ForeignAbi>() {
    let kinds = DeviceKind::ALL.iter().filter(|kind| !kind.has_addresses());
    for &kind in kinds {
        for sizes in [[2, 3], [2, 0]] {
            let deletions = Counter::default();
            let mut producer = Producer::two_rows();
            producer.device = dlbridge::Device::new(kind, 1).into();
            producer.byte_offset = 64;
            producer.shape = Some(sizes.to_vec());
            let handle = producer.data.cast_const().cast();
            let tensor = import::<A>(producer, &deletions);
            assert_eq!(tensor.data_ptr(), handle, "{kind:?}, {sizes:?}");
            assert_eq!(tensor.byte_offset(), 64, "{kind:?}, {sizes:?}");
            let exported = tensor.to_dlpack_as::<A>().unwrap();
            let descriptor = exported.descriptor();
            assert_eq!(descriptor.data.cast_const().cast(), handle);
            assert_eq!(descriptor.byte_offset, 64);
            drop(exported);
            assert_deleted_with(tensor, &deletions);
        }
    }
}

fn the_largest_rank<A: ForeignAbi>() {
    let deletions = Counter::default();
    let (mut shape, strides) = ([1; 255], [1; 255]);
    shape[100] = 6;
    let elements = [0_i8, 1, 2, 3, 4, 5];
    let tensor = import::<A>(Producer::of(&elements, &shape, &strides), &deletions);
    assert_eq!(tensor.rank(), 255);
    assert_eq!(tensor.to_vec::<i8>().unwrap(), elements);
    assert_deleted_with(tensor, &deletions);
}

#[test]
fn newer_minor_version_with_unknown_flags_is_accepted() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.version = DLPackVersion {
        major: 1,
        minor: 99,
    };
    producer.flags = Flags::from_bits_retain(1 << 3 | 1 << 63);
    let tensor = import::<Versioned>(producer, &deletions);
    assert!(!tensor.is_read_only() && !tensor.is_copied() && !tensor.is_padded());
    assert_eq!(tensor.view::<f32>().unwrap()[[1, 2]], 5.0);
    assert_deleted_with(tensor, &deletions);
}

#[test]
fn memory_that_only_a_device_reaches_is_imported() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.device.device_type = DLDeviceType::CUDA;
    producer.data = ptr::without_provenance_mut(0x7f00_0000_0100);
    let tensor = import::<Versioned>(producer, &deletions);
    let column = tensor.select(1, 2).unwrap();
    assert_eq!(column.data_ptr().addr(), 0x7f00_0000_0108);
    drop(column);
    assert_deleted_with(tensor, &deletions);
}
