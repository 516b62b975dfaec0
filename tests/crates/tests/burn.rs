//! The crate `burn`, with its backend `NdArray`.
#![cfg(feature = "burn")]
#![allow(
    deprecated,
    reason = "the backend is, but the only one that lends its memory"
)]

mod support;

use burn_backend::TensorData;
use burn_ndarray::NdArrayTensor;
use burn_std::{BoolStore, Bytes, DType as BurnType};
use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{DType, Tensor};
use std::sync::atomic::Ordering;
use support::{counted, kind};

#[test]
fn vectors_are_moved_both_ways() -> Result<(), Error> {
    let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let first = tensor.data_ptr();
    let data = TensorData::try_from(tensor)?;
    assert_eq!(
        (data.dtype(), data.bytes().as_ptr()),
        (BurnType::F32, first)
    );
    let mut tensor = Tensor::try_from(data)?;
    assert_eq!((tensor.shape(), tensor.data_ptr()), (&[2, 2][..], first));
    tensor.view_mut::<f32>()?[[0, 1]] = 20.0;
    // The backend's tensor has the vector, too.
    let NdArrayTensor::F32(array) = NdArrayTensor::from_data(tensor.try_into()?) else {
        panic!("another element type");
    };
    assert!(array.is_owned());
    assert_eq!(array.view().as_ptr().cast(), first);
    assert_eq!(array.view()[[0, 1]], 20.0);
    Ok(())
}

#[test]
fn memory_of_other_owners_is_lent() -> Result<(), Error> {
    let (tensor, drops) = counted(vec![1_i64, 2, 3], &[3]);
    let first = tensor.data_ptr();
    let data = TensorData::try_from(tensor)?;
    assert_eq!(data.bytes().as_ptr(), first);
    let NdArrayTensor::I64(array) = NdArrayTensor::from_data(data) else {
        panic!("another element type");
    };
    assert!(array.is_borrowed());
    assert_eq!(array.view().as_ptr().cast(), first);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(array);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    // And back: bytes of another owner stay with it, read-only.
    let (tensor, drops) = counted(vec![true, false], &[2]);
    let back = Tensor::try_from(TensorData::try_from(tensor)?)?;
    assert!(back.is_read_only());
    assert_eq!(
        (back.dtype(), back.to_vec::<bool>()?),
        (DType::BOOL, vec![true, false])
    );
    drop(back);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn bytes_that_are_no_bools_are_refused_by_the_view() -> Result<(), Error> {
    let bytes = Bytes::from_bytes_vec(vec![1, 7]);
    let data = TensorData::from_bytes(bytes, [2], BurnType::Bool(BoolStore::U8));
    let tensor = Tensor::try_from(data)?;
    assert_eq!(kind(tensor.view::<bool>().unwrap_err()), Kind::Value);
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let refused = |tensor: Tensor| kind(TensorData::try_from(tensor).unwrap_err());
    assert_eq!(refused(Tensor::zeros(&[2], DType::C64)?), Kind::DType);
    assert_eq!(
        refused(Tensor::from([[1_u8, 2], [3, 4]]).transpose()),
        Kind::Layout
    );
    let wide = TensorData::from_bytes_vec(vec![0; 8], [2], BurnType::Bool(BoolStore::U32));
    assert_eq!(kind(Tensor::try_from(wide).unwrap_err()), Kind::DType);
    let empty = Tensor::try_from(TensorData::try_from(Tensor::zeros(&[0, 2], DType::F32)?)?)?;
    assert_eq!(empty.shape(), [0, 2]);
    Ok(())
}
