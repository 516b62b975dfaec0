//! Vectors of tensors without a copy, and tensors of any strides in a storage.

use dlbridge::error::{Error, IncompatibilityKind as Kind, LayoutError};
use dlbridge::view::{View, ViewMut};
use dlbridge::{DType, Storage, Tensor};
use std::panic::{RefUnwindSafe, UnwindSafe, catch_unwind};

#[test]
fn vector_is_moved_in_and_out() {
    let vec: Vec<u32> = (0..6).collect();
    let address = vec.as_ptr();
    let tensor = Tensor::from_vec(vec, &[2, 3]).unwrap();
    let vec = tensor.try_into_vec::<u32>().unwrap();
    assert_eq!((vec.as_ptr(), &vec[..]), (address, &[0, 1, 2, 3, 4, 5][..]));
    let empty = Tensor::from_vec(Vec::<f64>::new(), &[0, 3]).unwrap();
    assert!(empty.try_into_vec::<f64>().unwrap().is_empty());
    let scalar = Tensor::from_vec(vec![7_i8], &[]).unwrap();
    assert_eq!(scalar.try_into_vec::<i8>().unwrap(), [7]);
}

#[test]
fn what_is_behind_the_last_element_is_dropped() {
    let tensor = Tensor::from(vec![1_i16, 2, 3, 4]).slice(0, 0..2).unwrap();
    assert_eq!(tensor.try_into_vec::<i16>().unwrap(), [1, 2]);
}

#[test]
fn refused_vector_leaves_the_tensor_as_it_was() {
    let numbers = || Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let refused = numbers().try_into_vec::<i32>().unwrap_err();
    assert!(matches!(
        refused.error,
        Error::DTypeMismatch {
            found: DType::F32,
            wanted: DType::I32
        }
    ));
    let transposed = numbers().transpose();
    let refused = transposed.try_into_vec::<f32>().unwrap_err();
    assert!(matches!(refused.error, Error::NotContiguous { .. }));
    assert_eq!(
        refused.tensor.to_vec::<f32>().unwrap(),
        [1.0, 3.0, 2.0, 4.0]
    );
    let row = numbers().select(0, 1).unwrap();
    let refused = row.try_into_vec::<f32>().unwrap_err();
    assert_eq!(refused.error.incompatibility().kind, Kind::Layout);
    assert_eq!(refused.tensor.to_vec::<f32>().unwrap(), [3.0, 4.0]);
    let copied = Tensor::from_slice(&[1.0_f32], &[1]).unwrap(); // In memory that isn't a vector's.
    let refused = copied.try_into_vec::<f32>().unwrap_err();
    assert_eq!(refused.error.incompatibility().kind, Kind::Memory);
    let shared = numbers();
    let other = shared.clone();
    let refused = shared.try_into_vec::<f32>().unwrap_err();
    assert!(matches!(refused.error, Error::Shared { .. }));
    drop(other);
    assert_eq!(refused.tensor.try_into_vec::<f32>().unwrap().len(), 4);
}

#[test]
fn vector_with_a_byte_that_is_no_element_is_refused_for_it() {
    let tensor = Tensor::from_vec(vec![true; 3], &[3]).unwrap();
    let mut bytes = tensor.bit_cast(DType::U8).unwrap();
    drop(tensor);
    bytes.view_mut::<u8>().unwrap().fill(7);
    let tensor = bytes.bit_cast(DType::BOOL).unwrap();
    drop(bytes);
    let refused = tensor.try_into_vec::<bool>().unwrap_err();
    let invalid = Error::InvalidValue {
        value: 7,
        dtype: DType::BOOL,
    };
    assert_eq!(refused.error, invalid);
    assert_eq!(refused.tensor.len(), 3);
}

#[test]
#[cfg_attr(miri, ignore = "Miri would stop instead of saying no")]
fn more_elements_than_there_is_memory_are_an_error() {
    for count in [usize::MAX / 2, usize::MAX / 8] {
        let tensor = Tensor::scalar(1_u8).broadcast_to(&[count]).unwrap();
        let refused = tensor.to_vec::<u8>().unwrap_err();
        assert_eq!(refused, Error::OutOfMemory { bytes: count });
    }
    let tensor = Tensor::scalar(1.0_f32).broadcast_to(&[1 << 40, 1 << 20]);
    let refused = tensor.unwrap().to_vec::<f32>().unwrap_err();
    assert_eq!(refused, Error::OutOfMemory { bytes: 1 << 62 });
}

/// The elements of a storage of the numbers 0, 1, ..., by a naive walk.
fn walked(shape: &[usize], strides: &[isize]) -> Vec<i32> {
    let lowest: isize = shape
        .iter()
        .zip(strides)
        .map(|(size, stride)| (*size as isize - 1) * stride.min(&0))
        .sum();
    let mut all = vec![-lowest as i32];
    for (size, stride) in shape.iter().zip(strides) {
        let steps = |first: i32| (0..*size as i32).map(move |at| first + at * *stride as i32);
        all = all.into_iter().flat_map(steps).collect();
    }
    all
}

#[test]
fn strided_tensors_have_the_elements_of_a_naive_walk() {
    let storage = Storage::from_vec((0..24).collect::<Vec<i32>>());
    for (shape, strides) in [
        (&[24_usize][..], &[1_isize][..]),
        (&[24], &[-1]),
        (&[4, 6], &[6, 1]),
        (&[6, 4], &[1, 6]),
        (&[4, 6], &[-6, 1]),
        (&[2, 3, 2], &[-12, 4, -2]),
        (&[22, 3], &[1, 1]),
        (&[5, 2], &[0, 3]),
        (&[], &[]),
    ] {
        let tensor = Tensor::strided(storage.clone(), shape, strides, DType::I32).unwrap();
        let found = tensor.to_vec::<i32>().unwrap();
        assert_eq!(found, walked(shape, strides), "{shape:?} {strides:?}");
        assert_eq!((tensor.shape(), tensor.strides()), (shape, strides));
        assert_eq!(tensor.storage().data_ptr(), storage.data_ptr());
    }
    let empty = Tensor::strided(storage, &[0, 1 << 40], &[-7, 9], DType::I32).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn strided_elements_at_one_place_are_copied_before_they_are_written() {
    let storage = Storage::from_vec(vec![1.0_f32, 2.0, 3.0]);
    let mut windows = Tensor::strided(storage, &[2, 2], &[1, 1], DType::F32).unwrap();
    let refused = windows.view_mut::<f32>().unwrap_err();
    assert!(matches!(refused, Error::SelfOverlap { .. }));
    let address = windows.data_ptr();
    windows.make_mut::<f32>().unwrap()[[0, 1]] = 9.0;
    assert_ne!(windows.data_ptr(), address);
    assert_eq!(windows.to_vec::<f32>().unwrap(), [1.0, 9.0, 2.0, 3.0]);
}

#[test]
fn strided_bytes_that_are_no_bools_or_not_aligned_are_refused_by_views() {
    let bytes = || Storage::from_vec(vec![0_u8, 2, 1, 0, 0, 0, 0, 0, 0]);
    let backwards = Tensor::strided(bytes(), &[3], &[-1], DType::BOOL).unwrap();
    assert!(backwards.view::<bool>().is_err());
    let every_other = Tensor::strided(bytes(), &[2], &[2], DType::BOOL).unwrap();
    assert_eq!(every_other.to_vec::<bool>().unwrap(), [false, true]);
    // Numbers in bytes of another vector aren't that vector.
    let number = Tensor::strided(bytes(), &[1], &[1], DType::U8).unwrap();
    assert_eq!(number.try_into_vec::<u8>().unwrap(), [0]);
    let wide = Tensor::strided(bytes(), &[2], &[1], DType::I32).unwrap();
    assert!(wide.try_into_vec::<i32>().is_err());
}

#[test]
fn strided_packed_elements_are_bit_by_bit() {
    let storage = Storage::from_vec(vec![0x10_u8, 0x32]);
    let every_other = Tensor::strided(storage, &[2], &[2], DType::U4).unwrap();
    assert_eq!(every_other.to_string(), "[0 2]");
}

#[test]
fn strides_out_of_the_storage_are_refused() {
    let of = |shape: &[usize], strides: &[isize]| {
        let storage = Storage::from_vec(vec![0_u16; 4]);
        Tensor::strided(storage, shape, strides, DType::U16).unwrap_err()
    };
    for (shape, strides) in [
        (&[5_usize][..], &[1_isize][..]),
        (&[5], &[-1]),
        (&[2, 2], &[3, 1]),
    ] {
        let error = of(shape, strides);
        assert!(
            matches!(
                error,
                Error::Layout(LayoutError::TooSmall { available: 8, .. })
            ),
            "{error}"
        );
    }
    assert!(matches!(of(&[2], &[isize::MAX]), Error::Layout(_)));
    assert!(matches!(of(&[2], &[isize::MIN]), Error::Layout(_)));
    assert!(matches!(of(&[2], &[1, 1]), Error::Layout(_)));
}

#[test]
fn tensors_and_views_are_used_after_a_panic() {
    fn is_safe<T: UnwindSafe + RefUnwindSafe>() {}
    is_safe::<Tensor>();
    is_safe::<Storage>();
    is_safe::<View<'static, f32>>();
    fn may_be_lent<T: RefUnwindSafe>() {}
    may_be_lent::<ViewMut<'static, f32>>();

    let tensor = Tensor::from(vec![1.0_f32, 2.0]);
    let outcome = catch_unwind(|| {
        assert!(tensor.to_vec::<f32>().unwrap()[0] > 1.0, "it is one");
    });
    assert!(outcome.is_err());
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.0, 2.0]);
}
