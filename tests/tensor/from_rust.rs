//! Tensors from vectors, slices, arrays, iterators and single numbers.

use dlbridge::dtype::Scalar;
use dlbridge::error::{Error, LayoutError};
use dlbridge::{DType, Device, Element, Storage, Tensor};
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::Debug;

#[test]
fn vec_becomes_a_tensor_without_copy() {
    let numbers = vec![1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0];
    let address = numbers.as_ptr();
    let tensor = Tensor::from_vec(numbers, &[3, 1, 2]).unwrap();
    assert_eq!(tensor.data_ptr().cast(), address);
    assert_eq!(tensor.shape(), [3, 1, 2]);
    assert!(tensor.layout().is_contiguous());
    assert_eq!((tensor.len(), tensor.rank(), tensor.nbytes()), (6, 3, 48));
    assert_eq!(tensor.device(), Device::CPU);
    assert!(!tensor.is_read_only() && !tensor.is_copied() && !tensor.is_padded());
    let flat = Tensor::from(tensor.to_vec::<f64>().unwrap());
    assert_eq!((flat.shape(), flat.dtype()), (&[6][..], DType::F64));
}

#[test]
fn spare_capacity_of_vec_is_excluded() {
    let mut numbers = Vec::with_capacity(100);
    numbers.extend([1_u8, 2, 3]);
    let tensor = Tensor::from(numbers);
    assert_eq!((tensor.len(), tensor.storage().nbytes()), (3, 3));
}

#[test]
fn lent_owner_is_dropped_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static DROPS: AtomicUsize = AtomicUsize::new(0);

    // Inline, so that moving the owner after the borrow would show.
    struct Inline([u32; 4]);
    impl AsRef<[u32]> for Inline {
        fn as_ref(&self) -> &[u32] {
            &self.0
        }
    }
    impl Drop for Inline {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }

    let tensor = Tensor::from_owner(Inline([1, 2, 3, 4]), &[2, 2]).unwrap();
    let row = tensor.select(0, 1).unwrap();
    drop(tensor);
    assert_eq!(row.to_vec::<u32>().unwrap(), [3, 4]);
    assert_eq!(DROPS.load(Ordering::Relaxed), 0);
    drop(row);
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
    // A refused owner is dropped too.
    assert!(Tensor::from_owner(Inline([0; 4]), &[5]).is_err());
    assert_eq!(DROPS.load(Ordering::Relaxed), 2);

    let fixed: &'static [i16] = &[-1, -2];
    let tensor = Tensor::from_owner(fixed, &[2]).unwrap();
    assert_eq!(tensor.data_ptr().cast(), fixed.as_ptr());
}

#[test]
fn a_slice_is_copied() {
    let numbers = [1_i16, 2, 3, 4];
    let tensor = Tensor::from_slice(&numbers[1..], &[3]).unwrap();
    assert_ne!(tensor.data_ptr().cast(), numbers[1..].as_ptr());
    assert_eq!(tensor.to_vec::<i16>().unwrap(), [2, 3, 4]);
    assert_eq!(
        Tensor::from_slice::<u8>(&[], &[4, 0]).unwrap().shape(),
        [4, 0]
    );
}

#[test]
fn nested_arrays_have_their_depth_as_rank() {
    let cube = [[[1_u8, 2, 3], [4, 5, 6]]; 4];
    for (tensor, shape) in [
        (Tensor::from([1_u8, 2, 3]), &[3][..]),
        (Tensor::from([[1_u8, 2, 3], [4, 5, 6]]), &[2, 3]),
        (Tensor::from(cube), &[4, 2, 3]),
        (Tensor::from([[[0_u8; 0]; 2]; 3]), &[3, 2, 0]),
        (Tensor::from([[0_u8; 5]; 0]), &[0, 5]),
        (Tensor::from([0_u8; 0]), &[0]),
    ] {
        assert_eq!(tensor.shape(), shape);
        assert_eq!(tensor.len(), shape.iter().product::<usize>());
        let expected: Vec<u8> = (0..tensor.len()).map(|i| (i % 6 + 1) as u8).collect();
        assert_eq!(tensor.to_vec::<u8>().unwrap(), expected);
    }
}

#[test]
fn iterators_are_collected() {
    let tensor: Tensor = (1..=4).map(|x| x as f32 / 2.0).collect();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [0.5, 1.0, 1.5, 2.0]);
    assert_eq!(std::iter::empty::<u8>().collect::<Tensor>().shape(), [0]);
}

/// Every way to make a tensor of a Rust type gives back the numbers that went in.
fn there_and_back<T: Element + PartialEq + Debug>(dtype: DType, values: [T; 3]) {
    assert_eq!(DType::of::<T>(), dtype);
    for tensor in [
        Tensor::from(values),
        Tensor::from(values.to_vec()),
        Tensor::from_slice(&values, &[3]).unwrap(),
        Tensor::from_owner(values.to_vec(), &[3]).unwrap(),
        values.into_iter().collect(),
    ] {
        assert_eq!(tensor.dtype(), dtype);
        assert_eq!(tensor.to_vec::<T>().unwrap(), values);
        assert_eq!(tensor.nbytes(), 3 * size_of::<T>());
    }
    let scalar = Tensor::scalar(values[1]);
    assert_eq!((scalar.rank(), scalar.item::<T>()), (0, Ok(values[1])));
    let full = Tensor::full(&[2, 2], values[2]).unwrap();
    assert_eq!(full.to_vec::<T>().unwrap(), [values[2]; 4]);
    assert_eq!(Tensor::full(&[0, 3], values[0]).unwrap().len(), 0);
    let ones = Tensor::ones(&[2], dtype).unwrap();
    assert!(ones.view::<T>().is_ok());
}

#[test]
fn numbers_of_every_rust_type_come_back() {
    use dlbridge::dtype::*;
    there_and_back(DType::I8, [i8::MIN, -1, i8::MAX]);
    there_and_back(DType::I16, [i16::MIN, -1, i16::MAX]);
    there_and_back(DType::I32, [i32::MIN, -1, i32::MAX]);
    there_and_back(DType::I64, [i64::MIN, -1, i64::MAX]);
    there_and_back(DType::U8, [0, 1, u8::MAX]);
    there_and_back(DType::U16, [0, 1, u16::MAX]);
    there_and_back(DType::U32, [0, 1, u32::MAX]);
    there_and_back(DType::U64, [0, 1, u64::MAX]);
    there_and_back(DType::F16, [f16::ONE, f16::MAX, f16::INFINITY]);
    there_and_back(DType::BF16, [bf16::ONE, bf16::MAX, bf16::INFINITY]);
    there_and_back(DType::F32, [1.5, f32::MAX, f32::NEG_INFINITY]);
    there_and_back(DType::F64, [1.5, f64::MIN_POSITIVE, f64::INFINITY]);
    there_and_back(DType::BOOL, [true, false, true]);
    there_and_back(DType::C64, [1.0_f32, 2.0, 3.0].map(|x| Complex::new(x, -x)));
    there_and_back(
        DType::C128,
        [1.0_f64, 2.0, 3.0].map(|x| Complex::new(x, -x)),
    );
    let halves = [f16::ONE, f16::MAX, f16::NEG_ONE];
    there_and_back(DType::C32, halves.map(|x| Complex::new(x, f16::EPSILON)));
    there_and_back(DType::F8_E3M4, [0, 1, 255].map(F8E3M4::from_bits));
    there_and_back(DType::F8_E4M3, [0, 1, 255].map(F8E4M3::from_bits));
    there_and_back(
        DType::F8_E4M3B11FNUZ,
        [0, 1, 128].map(F8E4M3B11Fnuz::from_bits),
    );
    there_and_back(DType::F8_E4M3FN, [0, 1, 255].map(F8E4M3Fn::from_bits));
    there_and_back(DType::F8_E4M3FNUZ, [0, 1, 128].map(F8E4M3Fnuz::from_bits));
    there_and_back(DType::F8_E5M2, [0, 1, 255].map(F8E5M2::from_bits));
    there_and_back(DType::F8_E5M2FNUZ, [0, 1, 128].map(F8E5M2Fnuz::from_bits));
    there_and_back(DType::F8_E8M0FNU, [0, 1, 255].map(F8E8M0Fnu::from_bits));
}

#[test]
fn mismatched_element_count_is_refused() {
    for (count, shape) in [
        (3, &[2, 2][..]),
        (5, &[2, 2]),
        (0, &[]),
        (2, &[]),
        (1, &[0]),
    ] {
        let error = Error::from(LayoutError::ElementCount {
            shape: shape.to_vec(),
            expected: shape.iter().product(),
            found: count,
        });
        let numbers = vec![0_u32; count];
        assert_eq!(Tensor::from_slice(&numbers, shape).unwrap_err(), error);
        assert_eq!(Tensor::from_vec(numbers, shape).unwrap_err(), error);
    }
}

#[test]
fn storage_smaller_than_the_shape_is_refused() {
    let storage = || Storage::from_vec(vec![0x1234_u16, 0x5678, 0x9abc]);
    let tensor = Tensor::from_storage(storage(), &[2], DType::U16).unwrap();
    assert_eq!(tensor.to_vec::<u16>().unwrap(), [0x1234, 0x5678]);
    assert_eq!((tensor.nbytes(), tensor.storage().nbytes()), (4, 6));
    for (shape, dtype, needed) in [
        (&[4][..], DType::U16, 8),
        (&[7], DType::U8, 7),
        (&[13], DType::I4, 7),
        (&[49], DType::U1, 7),
        (&[9], DType::F6_E2M3FN, 7),
        (&[], DType::F64, 8),
        (&[1], DType::U8.with_lanes(7).unwrap(), 7),
    ] {
        assert_eq!(
            Tensor::from_storage(storage(), shape, dtype).unwrap_err(),
            Error::from(LayoutError::TooSmall {
                dtype,
                shape: shape.to_vec(),
                needed,
                available: 6
            })
        );
    }
    // One element fewer fits, as the sizes are exact to the bit.
    for (count, dtype) in [(12, DType::I4), (48, DType::U1), (8, DType::F6_E2M3FN)] {
        assert!(Tensor::from_storage(storage(), &[count], dtype).is_ok());
    }
}

#[test]
fn scalars_of_every_lane_are_read() {
    let storage = Storage::from_vec((0..6_u8).collect());
    let dtype = DType::U8.with_lanes(3).unwrap();
    let tensor = Tensor::from_storage(storage, &[2], dtype).unwrap();
    let scalars: Vec<Scalar> = tensor.scalars().unwrap().collect();
    assert_eq!(scalars, [0, 1, 2, 3, 4, 5].map(Scalar::Int));
    let last: Vec<Scalar> = tensor.select(0, 1).unwrap().scalars().unwrap().collect();
    assert_eq!(last, [3, 4, 5].map(Scalar::Int));
}
