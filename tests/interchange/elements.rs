//! Elements that are odd: misaligned, padded, no values of their type, too many to copy.

use crate::foreign::{Counter, ForeignAbi, Producer};
use crate::tolerated::{assert_deleted_with, import};
use dlbridge::DType;
use dlbridge::dlpack::{Flags, Versioned};
use dlbridge::dtype::Scalar;
use dlbridge::error::Error;

for_both_abis!(
    misaligned_data,
    booleans_that_are_neither,
    one_element_many_times,
);

fn misaligned_data<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut producer = Producer::of(&[9_u8, 1, 0, 0, 0, 2, 0, 0, 0], &[2], &[1]);
    producer.dtype = DType::U32.into();
    producer.data = producer.memory().wrapping_add(1).cast();
    let address = producer.data.addr();
    let tensor = import::<A>(producer, &deletions);
    let misaligned = Error::Misaligned {
        address,
        alignment: 4,
    };
    assert_eq!(tensor.view::<u32>().unwrap_err(), misaligned.clone());
    // SAFETY: no other code uses the memory.
    let view = unsafe { tensor.view_mut_unchecked::<u32>() };
    assert_eq!(view.unwrap_err(), misaligned);
    // Bytes have no alignment, and a copy has a good one.
    let bytes = tensor.bit_cast(DType::U8).unwrap();
    assert_eq!(
        bytes
            .view::<u8>()
            .unwrap()
            .iter()
            .filter(|byte| **byte != 0)
            .count(),
        2
    );
    let expected = [
        u32::from_ne_bytes([1, 0, 0, 0]),
        u32::from_ne_bytes([2, 0, 0, 0]),
    ];
    assert_eq!(tensor.copy().unwrap().to_vec::<u32>().unwrap(), expected);
    let backwards = tensor.step_by(0, -1).unwrap().copy().unwrap();
    assert_eq!(
        backwards.to_vec::<u32>().unwrap(),
        [expected[1], expected[0]]
    );
    drop(bytes);
    assert_deleted_with(tensor, &deletions);
}

fn booleans_that_are_neither<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut producer = Producer::of(&[0_u8, 1, 2, 1], &[2, 2], &[2, 1]);
    producer.dtype = DType::BOOL.into();
    let tensor = import::<A>(producer, &deletions);
    let invalid = Error::InvalidValue {
        value: 2,
        dtype: DType::BOOL,
    };
    assert_eq!(tensor.view::<bool>().unwrap_err(), invalid.clone());
    assert_eq!(tensor.to_vec::<bool>().unwrap_err(), invalid);
    // Values aren't checked before they are read, and as bytes every value is valid.
    let good = tensor.select(1, 1).unwrap();
    assert_eq!(good.to_vec::<bool>().unwrap(), [true, true]);
    let bytes = tensor.bit_cast(DType::U8).unwrap();
    assert_eq!(bytes.to_vec::<u8>().unwrap(), [0, 1, 2, 1]);
    drop((good, bytes));
    assert_deleted_with(tensor, &deletions);
}

fn one_element_many_times<A: ForeignAbi>() {
    let deletions = Counter::default();
    let tensor = import::<A>(Producer::of(&[7.0_f32], &[1 << 62], &[0]), &deletions);
    assert_eq!(tensor.storage().nbytes(), 4);
    assert_eq!(tensor.view::<f32>().unwrap()[[(1 << 62) - 1]], 7.0);
    // Its bytes can be neither counted nor allocated: that must be noticed.
    assert!(tensor.copy().is_err());
    assert_deleted_with(tensor, &deletions);
}

#[test]
fn the_padding_flag_on_whole_bytes() {
    let deletions = Counter::default();
    for dtype in [DType::F32, DType::I4.with_lanes(8).unwrap()] {
        let mut producer = Producer::two_rows();
        producer.dtype = dtype.into();
        producer.flags = Flags::IS_SUBBYTE_TYPE_PADDED;
        let tensor = import::<Versioned>(producer, &deletions);
        assert!(!tensor.is_padded(), "there is nothing to pad");
        assert_eq!(tensor.nbytes(), 24);
    }
}

#[test]
fn padded_and_packed_elements_are_read_as_such() {
    let numbers = |flags| {
        let mut producer = Producer::of(&[0xf1_u8, 0x32], &[2], &[1]);
        producer.dtype = DType::I4.into();
        producer.flags = flags;
        let tensor = import::<Versioned>(producer, &Counter::default());
        tensor.scalars().unwrap().collect::<Vec<_>>()
    };
    let packed = [Scalar::Int(1), Scalar::Int(-1)];
    assert_eq!(numbers(Flags::empty()), packed);
    let padded = [Scalar::Int(1), Scalar::Int(2)];
    assert_eq!(numbers(Flags::IS_SUBBYTE_TYPE_PADDED), padded);
}
