//! The crate `candle-core`.
#![cfg(feature = "candle")]

mod support;

use candle_core::{DType as CandleType, Device, Tensor as CandleTensor, Var};
use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{DType, Tensor};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use support::kind;

/// The address of the first element.
fn address(tensor: &CandleTensor) -> *const u8 {
    let (storage, layout) = tensor.storage_and_layout();
    let candle_core::Storage::Cpu(storage) = &*storage else {
        panic!("not on the CPU");
    };
    let slice = storage.as_slice::<f32>().unwrap();
    slice[layout.start_offset()..].as_ptr().cast()
}

#[test]
fn vectors_are_moved_into_candle() -> Result<(), Box<dyn std::error::Error>> {
    let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let first = tensor.data_ptr();
    let moved = CandleTensor::try_from(tensor)?;
    assert_eq!((moved.dims(), address(&moved)), (&[2, 2][..], first));
    let scalar = CandleTensor::try_from(Tensor::from_vec(vec![7_i64], &[])?)?;
    assert_eq!(scalar.to_scalar::<i64>()?, 7);
    let none = CandleTensor::try_from(Tensor::from_vec(Vec::<u8>::new(), &[0, 3])?)?;
    assert_eq!((none.dims(), none.dtype()), (&[0, 3][..], CandleType::U8));
    let halves = Tensor::from(vec![half::bf16::ONE; 3]);
    assert_eq!(CandleTensor::try_from(halves)?.dtype(), CandleType::BF16);
    Ok(())
}

#[test]
fn candles_memory_is_shared_with_its_strides() -> Result<(), Box<dyn std::error::Error>> {
    let weight = CandleTensor::arange(0.0_f32, 12.0, &Device::Cpu)?.reshape((3, 4))?;
    let part = weight.narrow(1, 1, 2)?.t()?;
    let tensor = Tensor::try_from(part.clone())?;
    assert_eq!(
        (tensor.shape(), tensor.strides()),
        (&[2, 3][..], &[1, 4][..])
    );
    assert_eq!(tensor.data_ptr(), address(&part));
    assert!(tensor.is_read_only());
    assert_eq!(tensor.to_vec::<f32>()?, [1.0, 5.0, 9.0, 2.0, 6.0, 10.0]);
    assert_eq!(weight.sum_all()?.to_scalar::<f32>()?, 66.0); // candle goes on reading
    drop((weight, part));
    assert_eq!(tensor.to_vec::<f32>()?.len(), 6);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    let broadcast =
        CandleTensor::ones((1, 3), CandleType::F32, &Device::Cpu)?.broadcast_as((2, 3))?;
    assert_eq!(Tensor::try_from(broadcast)?.strides(), [0, 1]);
    Ok(())
}

#[test]
fn candles_writes_wait_for_the_tensor() -> Result<(), Box<dyn std::error::Error>> {
    let var = Var::new(&[1.0_f32, 2.0], &Device::Cpu)?;
    let tensor = Tensor::try_from(var.as_tensor().clone())?;
    let (sender, done) = channel();
    let writer = {
        let var = var.clone();
        std::thread::spawn(move || {
            let other = CandleTensor::new(&[5.0_f32, 6.0], &Device::Cpu).unwrap();
            var.set(&other).unwrap();
            sender.send(()).unwrap();
        })
    };
    let early = done.recv_timeout(Duration::from_millis(100));
    assert_eq!(early, Err(RecvTimeoutError::Timeout));
    assert_eq!(tensor.to_vec::<f32>()?, [1.0, 2.0]);
    drop(tensor);
    writer.join().unwrap();
    assert_eq!(var.to_vec1::<f32>()?, [5.0, 6.0]);
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let refused = |tensor: Tensor| kind(CandleTensor::try_from(tensor).unwrap_err());
    assert_eq!(refused(Tensor::from(vec![1_u16])), Kind::DType);
    assert_eq!(refused(Tensor::zeros(&[2], DType::F32)?), Kind::Memory);
    let transposed = Tensor::from_vec(vec![1_u8, 2, 3, 4], &[2, 2])?.transpose();
    assert_eq!(refused(transposed), Kind::Layout);
    let shared = Tensor::from(vec![1.0_f32]);
    let _other = shared.clone();
    assert_eq!(refused(shared), Kind::Alias);
    let eights = CandleTensor::zeros(2, CandleType::F8E4M3, &Device::Cpu).unwrap();
    assert_eq!(kind(Tensor::try_from(eights).unwrap_err()), Kind::DType);
    Ok(())
}
