//! Zeros, ones and the like, of every element type.

use dlbridge::dtype::{Scalar, TypeCode};
use dlbridge::error::{DTypeError, Error};
use dlbridge::{DType, Tensor};

fn scalars(tensor: &Tensor) -> Vec<Scalar> {
    tensor.scalars().unwrap().collect()
}

/// A small whole number as each kind of scalar has it.
fn scalar(dtype: DType, number: u8) -> Scalar {
    match dtype.code() {
        TypeCode::Int | TypeCode::UInt => Scalar::Int(number.into()),
        TypeCode::Handle => Scalar::Handle(number.into()),
        TypeCode::Complex => Scalar::Complex(number.into(), 0.0),
        TypeCode::Bool => Scalar::Bool(number != 0),
        _ => Scalar::Float(number.into()),
    }
}

/// Every element type, and with lanes.
fn all_dtypes() -> impl Iterator<Item = DType> {
    let lanes = |lanes| move |dtype: &DType| dtype.with_lanes(lanes).unwrap();
    let all = DType::ALL.iter();
    all.clone()
        .copied()
        .chain(all.clone().map(lanes(2)))
        .chain(all.map(lanes(3)))
}

fn has_one(dtype: DType) -> bool {
    let signed_bit = dtype.code() == TypeCode::Int && dtype.bits() == 1;
    !signed_bit && dtype.code() != TypeCode::Handle
}

/// All numbers of a scale are powers of two.
fn has_zero(dtype: DType) -> bool {
    dtype.code() != TypeCode::Float8E8M0Fnu
}

fn not_representable(value: &str, dtype: DType) -> Error {
    let value = value.to_owned();
    DTypeError::NotRepresentable { value, dtype }.into()
}

#[test]
fn zeros_of_every_dtype_are_zero() {
    for dtype in all_dtypes() {
        for shape in [&[][..], &[7], &[3, 5], &[2, 0], &[1, 2, 1, 2]] {
            let count: usize = shape.iter().product();
            let zeros = Tensor::zeros(shape, dtype);
            if !has_zero(dtype) && count > 0 {
                assert_eq!(zeros.unwrap_err(), not_representable("0", dtype));
                continue;
            }
            let tensor = zeros.unwrap();
            assert_eq!((tensor.shape(), tensor.dtype()), (shape, dtype));
            assert_eq!(tensor.nbytes(), (count * dtype.item_bits()).div_ceil(8));
            assert_eq!(tensor.storage().nbytes(), tensor.nbytes());
            let lanes = usize::from(dtype.lanes());
            assert_eq!(
                scalars(&tensor),
                vec![scalar(dtype, 0); count * lanes],
                "{dtype}"
            );
        }
    }
}

#[test]
fn ones_of_every_dtype_are_one_or_refused() {
    for dtype in all_dtypes() {
        for shape in [&[][..], &[7], &[3, 5], &[2, 0]] {
            let ones = Tensor::ones(shape, dtype);
            if !has_one(dtype) {
                assert_eq!(ones.unwrap_err(), not_representable("1", dtype));
                continue;
            }
            let count = shape.iter().product::<usize>() * usize::from(dtype.lanes());
            let expected = vec![scalar(dtype, 1); count];
            assert_eq!(scalars(&ones.unwrap()), expected, "{dtype}");
        }
    }
}

#[test]
fn ones_leave_trailing_bits_zero() {
    let bytes = |count, dtype| {
        let ones = Tensor::ones(&[count], dtype).unwrap();
        ones.as_bytes().unwrap().to_vec::<u8>().unwrap()
    };
    assert_eq!(bytes(3, DType::U1), [0b111]);
    assert_eq!(bytes(3, DType::U4), [0x11, 0x01]);
    assert_eq!(bytes(9, DType::U1), [0xff, 0x01]);
}

#[test]
fn eye_has_ones_on_the_diagonal() {
    for dtype in all_dtypes() {
        for size in [0, 1, 2, 3, 5] {
            let eye = Tensor::eye(size, dtype);
            if !has_one(dtype) {
                assert_eq!(eye.unwrap_err(), not_representable("1", dtype));
                continue;
            }
            if !has_zero(dtype) && size > 0 {
                assert_eq!(eye.unwrap_err(), not_representable("0", dtype));
                continue;
            }
            let eye = eye.unwrap();
            assert_eq!(eye.shape(), [size, size]);
            let lanes = usize::from(dtype.lanes());
            for (i, found) in scalars(&eye).into_iter().enumerate() {
                let (row, column) = (i / lanes / size, i / lanes % size);
                let expected = scalar(dtype, (row == column).into());
                assert_eq!(found, expected, "{dtype} [{row}, {column}]");
            }
        }
    }
}

#[test]
fn uninitialized_tensor_is_written_and_read() {
    // SAFETY: every element is written before any is read.
    let tensor = unsafe { Tensor::uninit(&[2, 3], DType::I32) }.unwrap();
    let first = tensor.data_ptr().cast_mut().cast::<i32>();
    for i in 0..6 {
        // SAFETY: the tensor has six elements, and no other code its memory.
        unsafe { first.add(i).write(i as i32) };
    }
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
    for dtype in all_dtypes() {
        // SAFETY: nothing is read.
        let tensor = unsafe { Tensor::uninit(&[3, 3], dtype) }.unwrap();
        assert_eq!(tensor.storage().nbytes(), tensor.nbytes());
        assert!(!tensor.is_copied());
    }
}
