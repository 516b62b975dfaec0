//! Our own memory: how it is aligned, and that there is not always enough.

use dlbridge::error::{Error, LayoutError};
use dlbridge::{DType, Storage, Tensor};

#[test]
fn own_memory_is_aligned_for_every_framework() {
    let check = |tensor: &Tensor| {
        let wanted = if (1..4096).contains(&tensor.nbytes()) {
            64
        } else {
            256
        };
        let address = tensor.data_ptr().addr();
        assert_eq!(address % wanted, 0, "{} bytes", tensor.nbytes());
        assert!(tensor.storage().alignment() >= wanted);
    };
    // Many at once, so that the allocator can't give a good address by luck to all of them.
    let mut kept = vec![];
    for bytes in [0, 1, 3, 63, 64, 65, 100, 4095, 4096, 4097, 10_000] {
        for _ in 0..4 {
            let numbers = vec![1_u8; bytes];
            kept.push(Tensor::zeros(&[bytes], DType::U8).unwrap());
            kept.push(Tensor::ones(&[bytes], DType::U8).unwrap());
            kept.push(Tensor::full(&[bytes], 7_u8).unwrap());
            kept.push(Tensor::from_slice(&numbers, &[bytes]).unwrap());
            kept.push(Tensor::from(numbers).copy().unwrap());
        }
    }
    kept.iter().for_each(check);
    check(&Tensor::scalar(1_u8));
    check(&Tensor::from([1_u8, 2, 3]));
}

#[test]
fn zeros_are_zeros_also_in_used_memory() {
    for _ in 0..4 {
        drop(Tensor::full(&[5000], 0xff_u8).unwrap());
        let zeros = Tensor::zeros(&[5000], DType::U8).unwrap();
        assert!(zeros.view::<u8>().unwrap().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn storage_reports_the_alignment_of_its_address() {
    let storage = Storage::zeroed(8192).unwrap();
    assert!(storage.alignment() >= 256);
    for (start, alignment) in [(1, 1), (2, 2), (4, 4), (24, 8), (48, 16), (128, 128)] {
        assert_eq!(storage.slice(start..8192).alignment(), alignment);
    }
}

/// What no allocator gives.
#[test]
#[cfg_attr(miri, ignore = "Miri would stop instead of saying no")]
fn failed_allocation_is_an_error() {
    let bytes = 1_usize << 60;
    let error = Error::OutOfMemory { bytes };
    assert_eq!(Tensor::zeros(&[bytes], DType::U8).unwrap_err(), error);
    assert_eq!(Tensor::zeros(&[bytes, 2], DType::U4).unwrap_err(), error);
    assert_eq!(Tensor::ones(&[bytes / 2, 2], DType::U8).unwrap_err(), error);
    assert_eq!(Tensor::full(&[bytes / 4], 1.0_f32).unwrap_err(), error);
    assert_eq!(Tensor::eye(1 << 30, DType::U8).unwrap_err(), error);
    // SAFETY: there is nothing to read.
    let uninit = unsafe { Tensor::uninit(&[bytes / 8], DType::F64) };
    assert_eq!(uninit.unwrap_err(), error);
    assert_eq!(Storage::zeroed(bytes).unwrap_err(), error);
    assert_eq!(
        Storage::zeroed(usize::MAX).unwrap_err(),
        Error::OutOfMemory { bytes: usize::MAX }
    );
    // Repeating costs nothing until it is copied.
    let repeated = Tensor::scalar(1_u8).broadcast_to(&[bytes]).unwrap();
    assert_eq!(repeated.copy().unwrap_err(), error);
}

#[test]
fn sizes_beyond_the_address_space_are_refused() {
    let too_large = |dtype| Error::from(LayoutError::ExtentTooLarge { dtype });
    let shape = [1_usize << 60];
    for dtype in [DType::F32, DType::F64, DType::U8.with_lanes(16).unwrap()] {
        let shape = [isize::MAX as usize / 2];
        assert_eq!(Tensor::zeros(&shape, dtype).unwrap_err(), too_large(dtype));
        assert_eq!(Tensor::ones(&shape, dtype).unwrap_err(), too_large(dtype));
        let storage = Storage::from_vec(vec![0_u8; 8]);
        assert_eq!(
            Tensor::from_storage(storage, &shape, dtype).unwrap_err(),
            too_large(dtype)
        );
    }
    assert_eq!(
        Tensor::full(&shape, 1.0_f64).unwrap_err(),
        too_large(DType::F64)
    );
    let error = Error::from(LayoutError::TooManyElements);
    for shape in [
        &[usize::MAX][..],
        &[1 << 32, 1 << 32],
        &[1 << 40, 0, 1 << 40],
    ] {
        assert_eq!(Tensor::zeros(shape, DType::U8).unwrap_err(), error);
        assert_eq!(
            Tensor::from_vec(Vec::<u8>::new(), shape).unwrap_err(),
            error
        );
    }
    let ranks = vec![1; 256];
    assert_eq!(
        Tensor::zeros(&ranks, DType::U8).unwrap_err(),
        Error::from(LayoutError::RankTooLarge { rank: 256 })
    );
    assert_eq!(Tensor::zeros(&ranks[1..], DType::U8).unwrap().rank(), 255);
}

/// A few bytes repeated so often that the bits of all are too many to count.
#[test]
#[cfg_attr(miri, ignore = "Miri would stop instead of saying no")]
fn copies_beyond_the_address_space_are_refused() {
    for (dtype, count) in [
        (DType::F64, 1_usize << 58),
        (DType::F64, 1 << 62),
        (DType::C128, (1 << 57) + 1),
        (DType::U8, isize::MAX as usize),
        (DType::U1.with_lanes(65).unwrap(), 1 << 60),
    ] {
        let one = Tensor::zeros(&[], dtype).unwrap();
        let repeated = one.broadcast_to(&[count]).unwrap();
        assert!(repeated.copy().is_err(), "{dtype} {count}");
        assert!(repeated.contiguous().is_err(), "{dtype} {count}");
    }
}

#[test]
fn no_elements_need_no_memory() {
    for shape in [&[0][..], &[3, 0, 2], &[0, 1 << 40]] {
        let tensor = Tensor::zeros(shape, DType::F64).unwrap();
        assert_eq!((tensor.len(), tensor.nbytes()), (0, 0));
        assert!(tensor.is_empty() && tensor.storage().nbytes() == 0);
        assert_eq!(tensor.to_vec::<f64>().unwrap(), [0.0_f64; 0]);
        assert_eq!(tensor.scalars().unwrap().count(), 0);
        assert_eq!(tensor.copy().unwrap().shape(), shape);
    }
}
