//! Exported managed tensors, and refused exports.

use crate::consumers::{counted, numbers};
use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{DLDataType, DLDevice, Flags, Legacy, VERSION, Versioned};
use dlbridge::error::IncompatibilityKind;
use dlbridge::{DType, Tensor};

for_both_abis!(
    descriptors_say_what_the_tensor_is,
    pointers_are_never_null,
    offsets_are_folded_into_the_data_pointer,
    our_own_memory_is_aligned,
);

fn descriptors_say_what_the_tensor_is<A: ForeignAbi>() {
    let tensor = Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let backwards = tensor.transpose().step_by(0, -2).unwrap();
    let managed = backwards.to_dlpack_as::<A>().unwrap();

    let descriptor = managed.descriptor();
    assert_eq!(descriptor.data.cast_const().cast(), backwards.data_ptr());
    assert_eq!(descriptor.device, DLDevice::CPU);
    assert_eq!(descriptor.dtype, DLDataType::F32);
    assert_eq!(numbers(&managed), (&[2, 2][..], &[-2, 3][..]));
    // SAFETY: the first element, and the last one in memory, are elements of the tensor.
    unsafe {
        let first = descriptor.data.cast::<f32>();
        assert_eq!((*first, *first.offset(-2 + 3)), (3.0, 4.0));
    }
    assert!(managed.flags().is_empty());
    let version = A::HAS_FLAGS.then_some(VERSION);
    assert_eq!(managed.version(), version);
}

fn pointers_are_never_null<A: ForeignAbi>() {
    for rank in [0, 1, 2, 8, 9, 20, 255] {
        for size in [0, 1] {
            let tensor = Tensor::zeros(&vec![size; rank], DType::F64).unwrap();
            let managed = tensor.into_dlpack_as::<A>().unwrap();
            let descriptor = managed.descriptor();
            assert_eq!(descriptor.ndim as usize, rank);
            assert!(!descriptor.shape.is_null());
            assert!(!descriptor.strides.is_null());
            assert!(!descriptor.data.is_null());
            // SAFETY: `managed` owns the struct.
            let managed = unsafe { &*managed.as_ptr() };
            assert!(!managed.manager_ctx().is_null());
        }
    }
}

fn offsets_are_folded_into_the_data_pointer<A: ForeignAbi>() {
    let tensor = Tensor::arange(0_i32, 10, 1).unwrap();
    let part = tensor.slice(0, 3..7).unwrap();
    let managed = part.to_dlpack_as::<A>().unwrap();
    assert_eq!(managed.descriptor().byte_offset, 0);
    let expected = tensor.data_ptr().wrapping_add(12);
    assert_eq!(managed.descriptor().data.cast_const().cast(), expected);

    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.byte_offset = 8;
    let data = producer.data;
    let tensor = Tensor::from_dlpack(producer.hand_out::<A>(&deletions)).unwrap();
    let managed = tensor.into_dlpack_as::<A>().unwrap();
    assert_eq!(managed.descriptor().byte_offset, 0);
    assert_eq!(managed.descriptor().data, data.wrapping_byte_add(8));
}

fn our_own_memory_is_aligned<A: ForeignAbi>() {
    let address = |tensor: Tensor| {
        let managed = tensor.into_dlpack_as::<A>().unwrap();
        managed.descriptor().data.addr()
    };
    // Several at once, so that the allocator can't always give the same place.
    let mut kept = Vec::new();
    let sizes = [0, 1, 63, 64, 4095, 4096, 4097, 1000, 10_000, 1 << 16];
    // Miri takes long to fill a page.
    for &bytes in &sizes[..if cfg!(miri) { 4 } else { 10 }] {
        let alignment = if bytes < 4096 { 64 } else { 256 };
        let source = vec![1_u8; bytes];
        let foreign = Tensor::from_owner(source.clone(), &[bytes]).unwrap();
        for tensor in [
            Tensor::zeros(&[bytes], DType::U8).unwrap(),
            Tensor::full(&[bytes], 7_u8).unwrap(),
            Tensor::ones(&[bytes], DType::U8).unwrap(),
            Tensor::from_slice(&source, &[bytes]).unwrap(),
            foreign.copy().unwrap(),
        ] {
            kept.push(tensor.clone());
            let address = address(tensor);
            assert_eq!(address % alignment, 0, "{bytes} bytes at {address:#x}");
        }
    }
    assert_eq!(address(Tensor::scalar(1.0_f64)) % 64, 0);
    assert_eq!(address(Tensor::from([1_i16, 2])) % 64, 0);
}

#[test]
fn export_of_read_only_memory_is_flagged() {
    let tensor = Tensor::from_owner(&[1.0_f32, 2.0][..], &[2]).unwrap();
    assert_eq!(tensor.to_dlpack().flags(), Flags::READ_ONLY);
    let part = tensor.slice(0, 1..).unwrap();
    assert_eq!(part.into_dlpack().flags(), Flags::READ_ONLY);
}

#[test]
fn export_of_exclusive_copy_is_flagged_as_copied() {
    let copy = || Tensor::from([1, 2, 3]).copy().unwrap();
    assert_eq!(copy().into_dlpack().flags(), Flags::IS_COPIED);
    let into_versioned = copy().into_dlpack_as::<Versioned>().unwrap();
    assert_eq!(into_versioned.flags(), Flags::IS_COPIED);
    let part = copy().slice(0, 1..).unwrap();
    assert_eq!(part.into_dlpack().flags(), Flags::IS_COPIED);

    // It may be marked again once it is no longer shared.
    let tensor = copy();
    drop((
        tensor.clone(),
        tensor.to_dlpack(),
        tensor.storage().downgrade(),
    ));
    assert_eq!(tensor.into_dlpack().flags(), Flags::IS_COPIED);
}

#[test]
fn export_of_shared_copy_is_not_flagged_as_copied() {
    let copy = || Tensor::from([1, 2, 3]).copy().unwrap();
    assert_eq!(copy().to_dlpack().flags(), Flags::empty());
    let to_versioned = copy().to_dlpack_as::<Versioned>().unwrap();
    assert_eq!(to_versioned.flags(), Flags::empty());

    let (tensor, other) = (copy(), copy());
    let clone = tensor.clone();
    assert_eq!(tensor.into_dlpack().flags(), Flags::empty());
    let export = other.to_dlpack();
    assert_eq!(other.into_dlpack().flags(), Flags::empty());
    drop((clone, export));

    let tensor = copy();
    let storage = tensor.storage().clone();
    assert_eq!(tensor.into_dlpack().flags(), Flags::empty());
    drop(storage);

    let tensor = copy();
    let weak = tensor.storage().downgrade();
    assert_eq!(tensor.into_dlpack().flags(), Flags::empty());
    assert!(weak.upgrade().is_none());
}

#[test]
fn export_of_original_is_not_flagged_as_copied() {
    let fresh = Tensor::from_vec(vec![1_u8, 2], &[2]).unwrap();
    assert_eq!(fresh.into_dlpack().flags(), Flags::empty());
    // Read-only memory is never exclusive.
    let copy = Tensor::from([1]).copy().unwrap().into_read_only();
    assert_eq!(copy.into_dlpack().flags(), Flags::READ_ONLY);
}

#[test]
fn legacy_export_refuses_read_only_memory() {
    let drops = Counter::default();
    let tensor = counted(&[1.0_f32], &drops).into_read_only();
    let error = tensor.to_dlpack_as::<Legacy>().unwrap_err();
    assert_eq!(error.kind, IncompatibilityKind::ReadOnly);
    assert_eq!(
        error.to_string(),
        "a read-only tensor can't be exported through the legacy DLManagedTensor, which can't \
         mark it; export the versioned one, or copy it first"
    );
    assert_eq!(tensor.storage().handles(), 1, "the refusal kept nothing");
    assert!(tensor.copy().unwrap().into_dlpack_as::<Legacy>().is_ok());
    assert_eq!(drops.count(), 0);
    let error = tensor.into_dlpack_as::<Legacy>().unwrap_err();
    assert_eq!(error.kind, IncompatibilityKind::ReadOnly);
    assert_eq!(drops.count(), 1, "the tensor was given away");
}

#[test]
fn unchecked_legacy_export_accepts_read_only_memory() {
    let drops = Counter::default();
    let tensor = counted(&[1.0_f32, 2.0], &drops).into_read_only();
    // SAFETY: nothing is written.
    let legacy = unsafe { tensor.clone().into_dlpack_unmarked::<Legacy>() }.unwrap();
    assert_eq!(
        legacy.descriptor().data.cast_const().cast(),
        tensor.data_ptr()
    );
    // SAFETY: nothing is written.
    let versioned = unsafe { tensor.clone().into_dlpack_unmarked::<Versioned>() }.unwrap();
    assert_eq!(
        versioned.flags(),
        Flags::READ_ONLY,
        "where that can be said, it is"
    );
    drop((tensor, versioned));
    assert_eq!(drops.count(), 0, "the export keeps the memory");
    drop(legacy);
    assert_eq!(drops.count(), 1);
}

#[test]
fn legacy_export_refuses_padded_elements() {
    let deletions = Counter::default();
    let mut producer = Producer::of(&[1_u8, 2, 3], &[3], &[1]);
    producer.dtype = DType::I4.into();
    producer.flags = Flags::IS_SUBBYTE_TYPE_PADDED;
    let tensor = Tensor::from_dlpack(producer.hand_out::<Versioned>(&deletions)).unwrap();
    let error = tensor.to_dlpack_as::<Legacy>().unwrap_err();
    assert_eq!(error.kind, IncompatibilityKind::Padding);
    assert_eq!(error.found.as_deref(), Some("padded int4"));
    assert_eq!(
        error.to_string(),
        "padded int4 elements can't be exported through the legacy DLManagedTensor, which can't \
         mark them; export the versioned one"
    );
    assert_eq!(tensor.to_dlpack().flags(), Flags::IS_SUBBYTE_TYPE_PADDED);
    assert_eq!(deletions.count(), 0);
    assert_eq!(tensor.into_dlpack_as::<Legacy>().unwrap_err(), error);
    assert_eq!(deletions.count(), 1);
}
