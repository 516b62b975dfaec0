//! Sub-byte elements that each have whole bytes, as some producers hand them out.

use dlbridge::dlpack::{Description, Flags, Versioned, export};
use dlbridge::dtype::Scalar;
use dlbridge::error::{Error, LayoutError};
use dlbridge::{DType, Device, Tensor};

/// A tensor of padded elements, each in the lowest bits of its byte.
fn padded(
    mut bytes: Vec<u8>,
    shape: &[usize],
    strides: &[isize],
    dtype: DType,
) -> Result<Tensor, Error> {
    let description = Description {
        data: bytes.as_mut_ptr().cast(),
        device: Device::CPU.into(),
        dtype: dtype.into(),
        shape,
        strides,
        byte_offset: 0,
        flags: Flags::IS_SUBBYTE_TYPE_PADDED,
    };
    // SAFETY: the vector is what is described, is kept by the export, and its buffer stays where
    // it is. Every test below names only elements that are in it.
    let managed = unsafe { export::<Versioned, _>(&description, bytes) };
    Tensor::from_dlpack(managed)
}

/// 1, 2, 3, ... with rubbish in the bits that don't count.
fn six_nibbles() -> Tensor {
    let bytes = vec![0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0xa6];
    padded(bytes, &[2, 3], &[3, 1], DType::U4).unwrap()
}

fn integers(tensor: &Tensor) -> Vec<i128> {
    let integer = |scalar| match scalar {
        Scalar::Int(number) => number,
        other => panic!("{other:?}"),
    };
    tensor.scalars().unwrap().map(integer).collect()
}

#[test]
fn padded_elements_take_a_byte_each() {
    let tensor = six_nibbles();
    assert!(tensor.is_padded());
    assert_eq!((tensor.nbytes(), tensor.storage().nbytes()), (6, 6));
    assert_eq!(integers(&tensor), [1, 2, 3, 4, 5, 6]);
    let signed = padded(vec![0x0f, 0xf7], &[2], &[1], DType::I4).unwrap();
    assert_eq!(integers(&signed), [-1, 7]);
    let six = padded(vec![0b1100_0001, 0b0000_0010], &[2], &[1], DType::F6_E2M3FN).unwrap();
    let numbers: Vec<Scalar> = six.scalars().unwrap().collect();
    assert_eq!(numbers, [0.125, 0.25].map(Scalar::Float));
}

#[test]
fn views_begin_at_any_element() {
    let tensor = six_nibbles();
    let row = tensor.select(0, 1).unwrap();
    assert_eq!(row.data_ptr(), tensor.data_ptr().wrapping_add(3));
    assert!(row.is_padded());
    assert_eq!(integers(&row), [4, 5, 6]);
    assert_eq!(integers(&row.step_by(0, -1).unwrap()), [6, 5, 4]);
    assert_eq!(integers(&tensor.transpose()), [1, 4, 2, 5, 3, 6]);
    assert_eq!(integers(&tensor.slice(1, 1..2).unwrap()), [2, 5]);
}

#[test]
fn copies_stay_padded() {
    let tensor = six_nibbles();
    let repeated = tensor.select(0, 0).unwrap().broadcast_to(&[2, 3]).unwrap();
    let backwards = tensor.step_by(0, -1).unwrap().step_by(1, -1).unwrap();
    for view in [tensor.clone(), tensor.transpose(), repeated, backwards] {
        let copy = view.copy().unwrap();
        assert!(copy.is_padded() && copy.is_copied() && !copy.is_read_only());
        assert!(copy.layout().is_contiguous());
        assert_eq!((copy.nbytes(), copy.dtype()), (6, DType::U4));
        assert_eq!(integers(&copy), integers(&view));
        assert!(copy.equals(&view).unwrap());
    }
}

#[test]
fn padded_elements_equal_packed_ones() {
    let padded = six_nibbles();
    let packed = Tensor::from(vec![0x21_u8, 0x43, 0x65])
        .bit_cast(DType::U4)
        .unwrap();
    let packed = packed.reshape(&[2, 3]).unwrap();
    assert!(!packed.is_padded());
    assert!(padded.equals(&packed).unwrap() && packed.equals(&padded).unwrap());
    assert!(padded.all_close(&packed, 0.0, 0.0).unwrap());
    assert!(!padded.equals(&packed.transpose()).unwrap());
}

#[test]
fn padded_elements_as_bytes_are_whole() {
    let tensor = six_nibbles();
    let bytes = [0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0xa6];
    let flat = tensor.as_bytes().unwrap();
    assert!(!flat.is_padded());
    assert_eq!(flat.to_vec::<u8>().unwrap(), bytes);
    let cast = tensor.transpose().bit_cast(DType::U8);
    // Elements of the same width keep their places, wherever they are.
    assert_eq!(
        cast.unwrap().to_vec::<u8>().unwrap(),
        [0xf1, 0xc4, 0xe2, 0xb5, 0xd3, 0xa6]
    );
    // And their bits, packed, are twice as many nibbles.
    let nibbles = tensor.bit_cast(DType::U4).unwrap();
    assert!(!nibbles.is_padded());
    assert_eq!((nibbles.shape(), nibbles.nbytes()), (&[2, 6][..], 6));
    assert_eq!(integers(&nibbles)[..4], [1, 15, 2, 14]);
}

#[test]
fn whole_bytes_need_no_padding() {
    // The flag says nothing of elements that fill their bytes.
    let bytes = padded(vec![1, 2], &[2], &[1], DType::U8).unwrap();
    assert!(!bytes.is_padded());
    let pairs = padded(vec![0x21], &[1], &[1], DType::U4.with_lanes(2).unwrap()).unwrap();
    assert!(!pairs.is_padded());
    assert_eq!(integers(&pairs), [1, 2]);
    let dtype = DType::U4.with_lanes(3).unwrap();
    assert_eq!(
        padded(vec![0; 2], &[1], &[1], dtype).unwrap_err(),
        Error::from(LayoutError::CannotPad { dtype })
    );
}
