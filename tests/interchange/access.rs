//! Access to imported memory: each refusal has its own reason.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{Flags, Legacy, Versioned};
use dlbridge::error::{Error, SharedWith};
use dlbridge::{DType, Device, DeviceKind, Element, Storage, Tensor};

for_both_abis!(
    foreign_memory_is_written_only_on_a_promise,
    memory_that_the_host_does_not_reach,
    elements_of_another_type,
);

const WITH_HANDLES: Error = Error::Shared {
    with: SharedWith::Handles,
};
const WITH_PRODUCER: Error = Error::Shared {
    with: SharedWith::Producer,
};

/// Asks for a view to write through, and returns why there is none.
#[track_caller]
fn refusal<T: Element>(tensor: &mut Tensor) -> Error {
    reason(tensor.view_mut::<T>().map(drop))
}

#[track_caller]
fn reason(result: Result<(), Error>) -> Error {
    match result {
        Err(reason) => reason,
        other => panic!("expected an access error, not {other:?}"),
    }
}

/// The same, on the promise that no other code uses the memory.
#[track_caller]
fn refusal_despite_promise<T: Element>(tensor: &Tensor) -> Error {
    // SAFETY: the tests use one view at a time.
    reason(unsafe { tensor.view_mut_unchecked::<T>() }.map(drop))
}

fn import(flags: Flags) -> Tensor {
    let mut producer = Producer::two_rows();
    producer.flags = flags;
    Tensor::from_dlpack(producer.hand_out::<Versioned>(&Counter::default())).unwrap()
}

#[test]
fn own_memory_is_writable() {
    let mut tensor = Tensor::from([[1, 2], [3, 4]]);
    tensor.view_mut::<i32>().unwrap()[[1, 0]] = 7;
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [1, 2, 7, 4]);
    let mut scalar = Tensor::scalar(1_u8);
    scalar.view_mut::<u8>().unwrap()[[]] = 2;
    assert_eq!(scalar.item::<u8>().unwrap(), 2);
    let mut empty = Tensor::zeros(&[0, 3], DType::F32).unwrap();
    assert!(empty.view_mut::<f32>().unwrap().is_empty());
}

#[test]
fn second_handle_refuses_writes_until_dropped() {
    let mut tensor = Tensor::from([1.0_f32, 2.0]);
    macro_rules! in_the_way {
        ($($other:expr),* $(,)?) => {$(
            let other = $other;
            assert_eq!(refusal::<f32>(&mut tensor), WITH_HANDLES, stringify!($other));
            drop(other);
            tensor.view_mut::<f32>().expect(stringify!($other)).fill(3.0);
        )*};
    }
    in_the_way!(
        tensor.clone(),
        tensor.slice(0, 1..).unwrap(),
        tensor.clone().into_read_only(),
        tensor.storage().clone(),
        tensor.storage().slice(0..0),
        tensor.storage().downgrade(),
        tensor.to_dlpack(),
        tensor.to_dlpack_as::<Legacy>().unwrap(),
        tensor.clone().into_dlpack(),
        Tensor::from_dlpack(tensor.to_dlpack()).unwrap(),
    );
}

fn foreign_memory_is_written_only_on_a_promise<A: ForeignAbi>() {
    let deletions = Counter::default();
    let producer = Producer::two_rows();
    let theirs = producer.memory().cast::<f32>();
    let mut tensor = Tensor::from_dlpack(producer.hand_out::<A>(&deletions)).unwrap();
    assert_eq!(refusal::<f32>(&mut tensor), WITH_PRODUCER);
    // SAFETY: this producer doesn't use the memory meanwhile.
    unsafe { tensor.view_mut_unchecked::<f32>() }.unwrap()[[1, 1]] = 8.5;
    // SAFETY: the memory is there, as nothing was deleted; and the view is gone.
    assert_eq!(unsafe { *theirs.add(4) }, 8.5);
    // SAFETY: the memory is live, as nothing was deleted, and no view of it exists.
    unsafe { *theirs.add(5) = -1.0 };
    assert_eq!(tensor.view::<f32>().unwrap()[[1, 2]], -1.0);
    assert_eq!(deletions.count(), 0);
}

#[test]
fn imported_exclusive_copy_is_writable() {
    let mut tensor = import(Flags::IS_COPIED);
    tensor.view_mut::<f32>().unwrap().fill(1.0);
    let clone = tensor.clone();
    assert_eq!(refusal::<f32>(&mut tensor), WITH_HANDLES);
    assert_eq!(clone.to_vec::<f32>().unwrap(), [1.0; 6]);
}

#[test]
fn read_only_memory_refuses_writes() {
    let copied = Flags::READ_ONLY | Flags::IS_COPIED;
    for mut tensor in [
        import(Flags::READ_ONLY),
        import(copied),
        import(Flags::empty()).into_read_only(),
        Tensor::from([1.0_f32]).into_read_only(),
        Tensor::from_owner(vec![1.0_f32], &[1]).unwrap(),
        Tensor::from_dlpack(import(copied).into_dlpack()).unwrap(),
    ] {
        assert_eq!(refusal::<f32>(&mut tensor), Error::ReadOnly);
        assert_eq!(refusal_despite_promise::<f32>(&tensor), Error::ReadOnly);
        let mut part = tensor.slice(0, ..1).unwrap();
        drop(tensor);
        assert_eq!(refusal::<f32>(&mut part), Error::ReadOnly);
        // The way out that the message names.
        part.copy().unwrap().view_mut::<f32>().unwrap().fill(2.0);
    }
}

#[test]
fn read_only_handle_leaves_other_handles_writable() {
    let mut tensor = Tensor::from([1_u8, 2]);
    drop(tensor.clone().into_read_only());
    assert!(!tensor.is_read_only());
    tensor.view_mut::<u8>().unwrap().fill(0);
}

#[test]
fn raw_memory_refuses_safe_writes() {
    let mut numbers = Box::new([1_u32, 2]);
    let data = numbers.as_mut_ptr().cast();
    // SAFETY: the box outlives the storage, and is left alone while that is used.
    let storage = unsafe { Storage::from_raw(data, 8, Device::CPU, || {}) };
    let mut tensor = Tensor::from_storage(storage, &[2], DType::U32).unwrap();
    assert_eq!(refusal::<u32>(&mut tensor), WITH_PRODUCER);
    // SAFETY: the box outlives the storage, and no other code uses it meanwhile.
    unsafe { tensor.view_mut_unchecked::<u32>() }.unwrap()[[0]] = 9;
    drop(tensor);
    assert_eq!(*numbers, [9, 2]);
}

#[test]
fn overlapping_elements_are_read_and_not_written() {
    let broadcast = Tensor::from([1_u8, 2]).broadcast_to(&[3, 2]).unwrap();
    // A window of two that moves by one.
    let mut windows = Producer::of(&[1_u8, 2, 3], &[2, 2], &[1, 1]);
    windows.flags = Flags::IS_COPIED;
    let windows = windows.hand_out::<Versioned>(&Counter::default());
    let windows = Tensor::from_dlpack(windows).unwrap();
    assert_eq!(windows.to_vec::<u8>().unwrap(), [1, 2, 2, 3]);
    for mut tensor in [broadcast, windows] {
        let overlap = Error::SelfOverlap {
            shape: tensor.shape().to_vec(),
            strides: tensor.strides().to_vec(),
        };
        assert_eq!(refusal_despite_promise::<u8>(&tensor), overlap);
        assert_eq!(refusal::<u8>(&mut tensor), overlap);
        tensor.copy().unwrap().view_mut::<u8>().unwrap().fill(0);
    }
}

fn memory_that_the_host_does_not_reach<A: ForeignAbi>() {
    for &kind in DeviceKind::ALL {
        let device = Device::new(kind, 0);
        let mut producer = Producer::two_rows();
        producer.device = device.into();
        let tensor = Tensor::from_dlpack(producer.hand_out::<A>(&Counter::default())).unwrap();
        let results = [
            tensor.view::<f32>().map(drop),
            // SAFETY: the tests use one view at a time.
            unsafe { tensor.view_mut_unchecked::<f32>() }.map(drop),
            tensor.to_vec::<f32>().map(drop),
            tensor
                .select(0, 0)
                .unwrap()
                .select(0, 0)
                .unwrap()
                .item::<f32>()
                .map(drop),
            tensor.copy().map(drop),
            tensor.transpose().contiguous().map(drop),
            tensor.scalars().map(drop),
            tensor.equals(&tensor).map(drop),
        ];
        for result in results {
            if kind.is_host_accessible() {
                result.unwrap();
            } else {
                assert_eq!(reason(result), Error::NotOnHost { device });
            }
        }
        // Nothing has to be moved, so this needs no access.
        assert!(tensor.contiguous().is_ok());
    }
}

fn elements_of_another_type<A: ForeignAbi>() {
    let producer = Producer::two_rows();
    let mut tensor = Tensor::from_dlpack(producer.hand_out::<A>(&Counter::default())).unwrap();
    let wrong = |wanted| Error::DTypeMismatch {
        found: DType::F32,
        wanted,
    };
    assert_eq!(reason(tensor.view::<i32>().map(drop)), wrong(DType::I32));
    assert_eq!(reason(tensor.to_vec::<f64>().map(drop)), wrong(DType::F64));
    assert_eq!(refusal_despite_promise::<u32>(&tensor), wrong(DType::U32));
    // Who may write is asked first.
    assert_eq!(refusal::<u32>(&mut tensor), WITH_PRODUCER);
    let mut own = tensor.copy().unwrap();
    assert_eq!(refusal::<bool>(&mut own), wrong(DType::BOOL));
}

#[test]
fn vector_dtype_refuses_scalar_views() {
    let mut producer = Producer::two_rows();
    producer.dtype.lanes = 2;
    producer.shape = Some(vec![3]);
    producer.ndim = 1;
    producer.strides = None;
    let managed = producer.hand_out::<Versioned>(&Counter::default());
    let tensor = Tensor::from_dlpack(managed).unwrap();
    let found = DType::F32.with_lanes(2).unwrap();
    let wanted = DType::F32;
    let error = reason(tensor.view::<f32>().map(drop));
    assert_eq!(error, Error::DTypeMismatch { found, wanted });
    assert_eq!(tensor.scalars().unwrap().count(), 6);
}

#[test]
fn inaccessible_or_unaligned_memory_is_refused() {
    let matrix = Tensor::from([[1_u8, 2], [3, 4]]);
    let gaps = Error::NotContiguous {
        shape: vec![2, 2],
        strides: vec![1, 2],
    };
    assert_eq!(reason(matrix.transpose().as_bytes().map(drop)), gaps);
    let many = Error::NotScalar { elements: 4 };
    assert_eq!(reason(matrix.item::<u8>().map(drop)), many);
    let shapes = Error::ShapeMismatch {
        left: vec![2, 2],
        right: vec![2],
    };
    let row = matrix.select(0, 0).unwrap();
    assert_eq!(reason(matrix.all_close(&row, 0.0, 0.0).map(drop)), shapes);
    let bytes = isize::MAX as usize - 7;
    let memory = Error::OutOfMemory { bytes };
    assert_eq!(reason(Storage::zeroed(bytes).map(drop)), memory);
    assert_eq!(
        memory.to_string(),
        format!("can't allocate {bytes} bytes of memory")
    );
}

#[test]
fn memory_between_foreign_elements_becomes_no_element() {
    // Two columns of three rows, of which the third is the producer's.
    let elements = [0_u32, 1, 100, 2, 3, 101, 4, 5];
    for flags in [Flags::empty(), Flags::READ_ONLY, Flags::IS_COPIED] {
        let mut producer = Producer::of(&elements, &[3, 2], &[3, 1]);
        producer.flags = flags;
        let tensor = Tensor::from_dlpack(producer.hand_out::<Versioned>(&Counter::default()));
        let tensor = tensor.unwrap();
        assert_eq!(tensor.to_vec::<u32>().unwrap(), [0, 1, 2, 3, 4, 5]);
        let parts = [tensor.storage().clone(), tensor.storage().slice(8..16)];
        for storage in parts {
            assert!(storage.has_gaps());
            let weak = storage.downgrade().upgrade().unwrap();
            let whole = Tensor::from_storage(storage.clone(), &[2], DType::U32);
            assert_eq!(whole.unwrap_err(), Error::HasGaps);
            let strided = Tensor::strided(weak, &[2], &[1], DType::U32);
            assert_eq!(strided.unwrap_err(), Error::HasGaps);
        }
        // A copy has none.
        let copy = tensor.copy().unwrap();
        assert!(!copy.storage().has_gaps());
        let flat = Tensor::from_storage(copy.storage().clone(), &[6], DType::U32).unwrap();
        assert_eq!(flat.to_vec::<u32>().unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn foreign_elements_without_others_in_between_have_no_gaps() {
    let import = |shape: &[i64], strides: &[i64], first: usize| {
        let mut producer = Producer::of(&[0_u8, 1, 2, 3, 4, 5], shape, strides);
        producer.byte_offset = first as u64;
        let tensor = Tensor::from_dlpack(producer.hand_out::<Versioned>(&Counter::default()));
        let storage = tensor.unwrap().storage().clone();
        (storage.has_gaps(), storage.nbytes())
    };
    assert_eq!(import(&[2, 3], &[3, 1], 0), (false, 6));
    assert_eq!(import(&[3, 2], &[1, 3], 0), (false, 6));
    assert_eq!(import(&[3, 2], &[-1, 3], 2), (false, 6));
    assert_eq!(import(&[4, 3], &[1, 1], 0), (false, 6));
    assert_eq!(import(&[2, 6], &[0, 1], 0), (false, 6));
    assert_eq!(import(&[], &[], 1), (false, 1));
    assert_eq!(import(&[0, 3], &[50, 7], 0), (false, 0));
    // As many elements as bytes, two of them at one place.
    assert_eq!(import(&[2, 2], &[0, 3], 0), (true, 4));
    assert_eq!(import(&[2, 2], &[2, 3], 0), (true, 6));
}
