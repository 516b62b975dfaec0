//! Packed elements, several in a byte: where views of them may begin.

use dlbridge::dtype::Scalar;
use dlbridge::error::{Error, LayoutError};
use dlbridge::{DType, Storage, Tensor};

fn packed(bytes: &[u8], shape: &[usize], dtype: DType) -> Tensor {
    Tensor::from_storage(Storage::from_vec(bytes.to_vec()), shape, dtype).unwrap()
}

fn integers(tensor: &Tensor) -> Vec<i128> {
    let integer = |scalar| match scalar {
        Scalar::Int(number) => number,
        other => panic!("{other:?}"),
    };
    tensor.scalars().unwrap().map(integer).collect()
}

fn inside_byte(result: Result<Tensor, Error>) -> usize {
    match result {
        Err(Error::Layout(LayoutError::InsideByte { bits, .. })) => bits,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_element_is_in_the_lowest_bits() {
    let bytes = [0xe4, 0x1b];
    let bits = [0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0];
    assert_eq!(integers(&packed(&bytes, &[16], DType::U1)), bits);
    assert_eq!(
        integers(&packed(&bytes, &[16], DType::I1)),
        bits.map(|bit: i128| -bit)
    );
    assert_eq!(
        integers(&packed(&bytes, &[8], DType::U2)),
        [0, 1, 2, 3, 3, 2, 1, 0]
    );
    assert_eq!(
        integers(&packed(&bytes, &[8], DType::I2)),
        [0, 1, -2, -1, -1, -2, 1, 0]
    );
    assert_eq!(integers(&packed(&bytes, &[4], DType::U4)), [4, 14, 11, 1]);
    assert_eq!(integers(&packed(&bytes, &[4], DType::I4)), [4, -2, -5, 1]);
}

#[test]
fn numbers_of_six_bits_lie_across_bytes() {
    // Patterns 1, 2, 3, 4, of which four fill three bytes.
    let word: u32 = 1 | 2 << 6 | 3 << 12 | 4 << 18;
    let tensor = packed(&word.to_le_bytes(), &[4], DType::F6_E2M3FN);
    let numbers: Vec<Scalar> = tensor.scalars().unwrap().collect();
    assert_eq!(numbers, [0.125, 0.25, 0.375, 0.5].map(Scalar::Float));
    assert_eq!(tensor.nbytes(), 3);
    assert_eq!(inside_byte(tensor.slice(0, 1..)), 6);
    assert_eq!(inside_byte(tensor.slice(0, 2..)), 4);
    assert_eq!(inside_byte(tensor.step_by(0, -1)), 2);
}

#[test]
fn views_within_a_byte_are_refused() {
    let tensor = packed(&[0x10, 0x32, 0x54, 0x76], &[8], DType::U4);
    let tail = tensor.slice(0, 2..7).unwrap();
    assert_eq!(integers(&tail), [2, 3, 4, 5, 6]);
    assert_eq!(tail.data_ptr(), tensor.data_ptr().wrapping_add(1));
    assert_eq!((tail.byte_offset(), tail.nbytes()), (1, 3));
    assert_eq!(inside_byte(tensor.slice(0, 1..)), 4);
    assert_eq!(inside_byte(tensor.slice(0, 3..4)), 4);
    assert_eq!(integers(&tensor.slice(0, ..5).unwrap()), [0, 1, 2, 3, 4]);
    // Where there is nothing, it begins anywhere.
    assert!(tensor.slice(0, 3..3).unwrap().is_empty());
    assert_eq!(integers(&tensor.step_by(0, 3).unwrap()), [0, 3, 6]);
    assert_eq!(integers(&tensor.select(0, 4).unwrap()), [4]);
    assert_eq!(inside_byte(tensor.select(0, 5)), 4);
    let halves = tensor.split(0, &[4, 4]).unwrap();
    assert_eq!(integers(&halves[1]), [4, 5, 6, 7]);
    assert!(matches!(
        tensor.split(0, &[3, 5]),
        Err(Error::Layout(LayoutError::InsideByte { bits: 4, .. }))
    ));
}

#[test]
fn backwards_from_the_beginning_of_a_byte() {
    let tensor = packed(&[0x10, 0x32, 0x04], &[5], DType::U4);
    let reversed = tensor.step_by(0, -1).unwrap();
    assert_eq!(integers(&reversed), [4, 3, 2, 1, 0]);
    assert_eq!(reversed.data_ptr(), tensor.data_ptr().wrapping_add(2));
    let copy = reversed.copy().unwrap();
    assert_eq!(
        copy.as_bytes().unwrap().to_vec::<u8>().unwrap(),
        [0x34, 0x12, 0x00]
    );
    assert_eq!(integers(&reversed.step_by(0, 2).unwrap()), [4, 2, 0]);
    // The last of an even number is in a byte's upper half.
    assert_eq!(inside_byte(tensor.slice(0, ..4).unwrap().step_by(0, -1)), 4);
}

#[test]
fn rows_of_packed_elements() {
    let tensor = packed(&[0x10, 0x32, 0x54], &[2, 3], DType::U4);
    assert_eq!(inside_byte(tensor.select(0, 1)), 4);
    assert_eq!(integers(&tensor.transpose()), [0, 3, 1, 4, 2, 5]);
    assert_eq!(integers(&tensor.select(1, 2).unwrap()), [2, 5]);
    assert_eq!(
        integers(&tensor.reshape(&[3, 2]).unwrap().select(0, 1).unwrap()),
        [2, 3]
    );
    let copy = tensor.transpose().copy().unwrap();
    assert_eq!(
        copy.as_bytes().unwrap().to_vec::<u8>().unwrap(),
        [0x30, 0x41, 0x52]
    );
    let repeated = tensor.broadcast_to(&[2, 2, 3]).unwrap();
    assert_eq!(integers(&repeated), [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
}

#[test]
fn vectors_of_packed_numbers_share_bytes_as_well() {
    // Two elements of twelve bits.
    let dtype = DType::U4.with_lanes(3).unwrap();
    let tensor = packed(&[0x21, 0x43, 0x65], &[2], dtype);
    assert_eq!(integers(&tensor), [1, 2, 3, 4, 5, 6]);
    assert_eq!(inside_byte(tensor.slice(0, 1..)), 4);
    let nibbles = tensor.bit_cast(DType::U4).unwrap();
    assert_eq!(nibbles.shape(), [6]);
    // Two numbers are a whole byte: then every element begins at one.
    let pairs = nibbles.bit_cast(DType::U4.with_lanes(2).unwrap()).unwrap();
    assert_eq!(integers(&pairs.step_by(0, -1).unwrap()), [5, 6, 3, 4, 1, 2]);
}

#[test]
fn casts_split_and_join_packed_elements() {
    let tensor = packed(&[0x21, 0x43], &[4], DType::U4);
    assert_eq!(integers(&tensor.bit_cast(DType::U8).unwrap()), [0x21, 0x43]);
    assert_eq!(
        integers(&tensor.bit_cast(DType::U1).unwrap())[..5],
        [1, 0, 0, 0, 0]
    );
    assert_eq!(
        integers(&tensor.bit_cast(DType::U2).unwrap())[..4],
        [1, 0, 2, 0]
    );
    let odd = tensor.slice(0, ..3).unwrap();
    assert!(matches!(
        odd.bit_cast(DType::U8),
        Err(Error::Layout(LayoutError::NotCastable { .. }))
    ));
    // All bytes that elements are in, also in part.
    let bytes = odd.as_bytes().unwrap();
    assert_eq!(bytes.to_vec::<u8>().unwrap(), [0x21, 0x43]);
    assert_eq!(bytes.data_ptr(), tensor.data_ptr());
    let columns = tensor.reshape(&[2, 2]).unwrap().transpose();
    assert_eq!(
        columns.as_bytes().unwrap_err(),
        Error::NotContiguous {
            shape: vec![2, 2],
            strides: vec![1, 2]
        }
    );
}
