//! ONNX Runtime, by the crate `ort`. The library is the one that `ORT_DYLIB_PATH` names, such as
//! that of the package `onnxruntime`; without it the tests say that they were skipped.
#![cfg(feature = "ort")]

mod support;

use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{DType, Tensor};
use ort::memory::Allocator;
use ort::value::{Tensor as OrtTensor, TensorRef};
use support::kind;

/// Checks whether there is a library. `DLBRIDGE_REQUIRE_ALL` demands one.
fn is_there() -> bool {
    let there = std::env::var_os("ORT_DYLIB_PATH").is_some();
    assert!(
        there || std::env::var_os("DLBRIDGE_REQUIRE_ALL").is_none(),
        "no ORT_DYLIB_PATH"
    );
    if !there {
        eprintln!("skipped: ORT_DYLIB_PATH isn't set");
    }
    there
}

#[test]
fn vectors_are_moved_into_values() -> Result<(), Error> {
    if !is_there() {
        return Ok(());
    }
    let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let first = tensor.data_ptr();
    let value = OrtTensor::<f32>::try_from(tensor)?;
    assert_eq!(value.data_ptr().cast(), first);
    assert_eq!(value.shape()[..], [2, 2]);
    let back = Tensor::try_from(value)?;
    assert_eq!((back.shape(), back.data_ptr()), (&[2, 2][..], first));
    std::thread::spawn(move || drop(back)).join().unwrap();
    Ok(())
}

#[test]
fn values_of_the_runtime_are_shared() -> Result<(), Box<dyn std::error::Error>> {
    if !is_there() {
        return Ok(());
    }
    let mut value = OrtTensor::<i64>::new(&Allocator::default(), [2_usize, 3])?;
    value
        .extract_tensor_mut()
        .1
        .copy_from_slice(&[1, 2, 3, 4, 5, 6]);
    let first = value.data_ptr();
    let mut tensor = Tensor::try_from(value)?;
    assert_eq!(
        (tensor.dtype(), tensor.data_ptr()),
        (DType::I64, first.cast())
    );
    assert_eq!(tensor.transpose().to_vec::<i64>()?, [1, 4, 2, 5, 3, 6]);
    assert_eq!(kind(tensor.view_mut::<i64>().unwrap_err()), Kind::Alias);
    Ok(())
}

#[test]
fn any_memory_is_borrowed() -> Result<(), Error> {
    if !is_there() {
        return Ok(());
    }
    let (tensor, _) = support::counted(vec![half::f16::ONE; 4], &[4]);
    let value = TensorRef::<half::f16>::try_from(&tensor)?;
    assert_eq!(value.data_ptr().cast(), tensor.data_ptr());
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    if !is_there() {
        return Ok(());
    }
    let refused = |tensor: Tensor| kind(OrtTensor::<f32>::try_from(tensor).unwrap_err());
    assert_eq!(refused(Tensor::from(vec![1_i32])), Kind::DType);
    assert_eq!(refused(Tensor::zeros(&[2], DType::F32)?), Kind::Memory);
    let transposed = Tensor::from_vec(vec![1.0_f32; 6], &[2, 3])?.transpose();
    assert_eq!(
        kind(TensorRef::<f32>::try_from(&transposed).unwrap_err()),
        Kind::Layout
    );
    assert_eq!(refused(transposed), Kind::Layout);
    Ok(())
}
